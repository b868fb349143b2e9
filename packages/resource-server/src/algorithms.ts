/** Only asymmetric ones: with a symmetric one, everyone who can verify could sign (RFC 8725 §3.1, RFC 9068 §2.1). */
export const PROOF_ALGORITHMS = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

export const TOKEN_ALGORITHMS = [...PROOF_ALGORITHMS, 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87']
