"""The model as a service: clients ask for runs over HTTP, and replicas on one or more machines compute them.

A `client.RemoteTranslator` is a `running.translator.Translator` and replaces it. Every run that a user waits for goes
to the service: translations, traces with and without details, every way of decoding, and one sentence read under many
interventions. Two things stay on the client, because their input would be the largest data to transfer:

- the weights themselves (*Inside a layer*, *Backpropagation*, the parts of a logit);
- the methods of attribution, which work on a trace with details that is already there.

They use the model in the client's own folder, which is loaded on first use. So the client needs the same model folder
as the service: the model's version is part of every request and of every answer.

The requests that wait for a replica at one time are translated as one batch. A replica keeps no state of a client, and
a run changes nothing. So a client repeats a run whose replica died.
"""
