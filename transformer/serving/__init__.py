"""Model server: clients request model runs over HTTP, and replicas of the model compute the results.

`client.RemoteTranslator` can replace its base class, `running.translator.Translator`. The server computes every run
that a user waits for: translations, traces with and without details, all decoding methods, and scores of one sentence
under many interventions. The client computes two kinds of results, because their input would take longest to transfer:

- computations from the weights (*Inside a layer*, *Backpropagation*, the parts of a logit);
- attribution methods, which use a trace with details that the client already has.

For these results, the client loads a local copy of the model on first use. The client therefore needs the server's
model folder; every request and every answer contains the model's version.

Requests that wait for a replica at the same time are translated as one batch. Replicas keep no client state, and runs
have no side effects, so the client can repeat a run if a replica dies.
"""
