"""The model as a service: its runs are asked for over HTTP, and computed by replicas on one machine or many.

A `client.RemoteTranslator` takes the place of a `transformer.running.translator.Translator`, which it is. Every run of the
model that a reader waits for goes to the service: translations, traces with and without details, every way of decoding,
and one sentence read under many interventions. Two things stay with whoever asks, because what they need would be the
largest thing that travels. The weights themselves (*Inside a layer*, *Backpropagation*, the parts of a logit), and the
methods of attribution, which work on a trace with details that is there already, use the model in the client's own
folder, which is loaded when one of these is asked for the first time. So the client has the model's folder, and the
service the same one: its version is part of every request and of every answer.

What waits for a replica at a time is translated as one batch. Nothing of a client is kept by a replica, and a run
changes nothing, so that a run whose replica died is asked for again.
"""
