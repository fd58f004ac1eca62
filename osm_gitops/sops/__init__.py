"""SOPS files with age: format, keys and creation rules.

Belongs here: encrypting and decrypting values in the format of ``sops`` and Flux, finding age keys as ``sops`` does,
reading ``.sops.yaml``; only this room uses cryptography and age. May not come in: the meaning of documents, and when
they are written. Messages contain neither keys nor plain text.
"""
