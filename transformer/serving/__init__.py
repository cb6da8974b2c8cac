"""Model server: clients request model runs over HTTP, and replicas of the model compute the results.

`client.RemoteTranslator` can replace its base class, `running.translator.Translator`. The server computes
translations with all decoding methods, traces with and without details, and scores of one translation under many
interventions. The client itself computes two kinds of results, because their input would take too long to transfer:

- computations from the weights (*Inside a layer*, *Backpropagation*, the parts of a logit);
- attribution methods, which use a trace with details that the client already has.

For these results, the client loads a local copy of the model on first use. The client therefore needs the server's
model folder. Every request and every answer contains the model's version, so that a mismatch is reported.

If several trace requests with default options wait for a replica at the same time, the replica generates their
translations in one batch.
Replicas keep no client state, and runs have no side effects, so the client can repeat a run if a replica dies.
"""
