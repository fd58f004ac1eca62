"""SOPS files with age: the format, keys and creation rules; the one door to cryptography and age.

Belongs here: encrypting and decrypting the values of a document in the format that ``sops`` and
Flux read, finding age keys where ``sops`` finds them, reading ``.sops.yaml``. May not come in:
what the documents mean, and when they are written. No key and no plain text is ever in a message.
"""
