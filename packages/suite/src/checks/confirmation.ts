/** The key that a token is bound to (RFC 7800 §3.1). */

export const confirmationOf = (claims: Readonly<Record<string, unknown>>) =>
  (typeof claims.cnf === 'object' && claims.cnf !== null ? claims.cnf : {}) as Readonly<
    Record<string, unknown>
  >
