/** The claims of the access token, and what each of them means. */

/** Reads the payload of a JWT for display. Verifying it is the API's task. */
export function decode(jwt) {
  const payload = jwt.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}

/** In the order in which they are easiest to explain. */
export const MEANINGS = {
  sub: 'Whose data it gives access to: the customer.',
  act: 'Who is really acting: you. An audit log needs both, sub and act.',
  impersonation:
    "This deployment's own claim, from its getCustomJwtClaims: the reason and the ticket you gave.",
  aud: 'The only API that may accept it.',
  scope: 'What it allows there, and nothing else.',
  client_id: 'The application that exchanged the subject token: this page.',
  iss: 'Who issued it: the identity provider.',
  iat: 'When it was issued.',
  exp: 'When it expires, if no one stops it before.',
  status: 'Where an API sees that it was stopped: a list of the identity provider, and the place in it.',
  jti: 'Its id, for logs. It is useless as a credential.',
}

export const TIMES = ['iat', 'exp']
