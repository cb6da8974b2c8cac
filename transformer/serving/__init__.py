"""The model as a service: clients ask for runs over HTTP, and replicas on one or more machines compute them.

A `client.RemoteTranslator` replaces a `running.translator.Translator`, of which it is a subclass. Every run that a user
waits for goes to the service: translations, traces with and without details, all decoding methods, and one sentence
read under many interventions. Two things are computed on the client, because their input would be the largest data to
transfer:

- computations from the weights (*Inside a layer*, *Backpropagation*, the parts of a logit);
- attribution methods, which use a trace with details that the client already has.

For these, the client loads the model in its own folder on first use. The client therefore needs the same model folder
as the service: every request and every answer contains the model's version.

Requests that wait for a replica at the same time are translated as one batch. A replica keeps no state of a client, and
a run changes nothing. If a replica dies, the client can therefore repeat the run.
"""
