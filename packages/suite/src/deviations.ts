/** Where servers in the field differ from the letter of an RFC on purpose: such checks pass, and the report names why. */
export const DEVIATIONS = {
  'invalid-grant':
    'For an invalid token the error is invalid_grant, as RFC 6749 §5.2 has it for other grants; RFC 8693 §2.2.2 asks for invalid_request.',
  'grant-not-allowed':
    'For a client that may not use the grant the error is invalid_request or invalid_client; RFC 6749 §5.2 asks for unauthorized_client.',
  'no-pragma':
    'Responses lack Pragma: no-cache, which RFC 6749 §5.1 asks for and RFC 9111 §5.4 has deprecated since.',
  'target-as-invalid-request':
    'For an unacceptable target the error is invalid_request; RFC 8693 §2.2.2 asks for invalid_target.',
  'requested-type-not-honoured':
    'Another type than the requested one is issued, and issued_token_type says so; RFC 8693 §2.2.1 allows it.',
  'scope-as-invalid-request':
    'For a scope that cannot be granted the error is invalid_request; RFC 6749 §5.2 asks for invalid_scope.',
  'dpop-as-invalid-request':
    'For a wrong DPoP proof the error is invalid_request or invalid_grant; RFC 9449 §5 asks for invalid_dpop_proof.',
} as const

/** The name of one. */
export type Deviation = keyof typeof DEVIATIONS
