"""Model server: clients request runs over HTTP, and replicas of the model on one or more machines compute the results.

A `client.RemoteTranslator` can replace a `running.translator.Translator`, its base class. The server computes every run
that a user waits for: translations, traces with and without details, all decoding methods, and scores of one sentence
under many interventions. Two things are computed on the client, because transferring their input would take longest:

- computations from the weights (*Inside a layer*, *Backpropagation*, the parts of a logit);
- attribution methods, which use a trace with details that the client already has.

For these, the client loads a local copy of the model on first use. The client therefore needs the same model folder as
the server; every request and every answer contains the model's version.

Requests that wait for a replica at the same time are translated as one batch. Replicas keep no client state, and runs
have no side effects, so the client can repeat a run if a replica dies.
"""
