/** The claims of the access token, and what each of them is for. */

/** Reads the payload of a JWT. Whether it is genuine is for the API to check: this is for showing. */
export function decode(jwt) {
  const payload = jwt.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}

/** In the order in which they tell the story. */
export const MEANINGS = {
  sub: 'Whose data it opens: the customer.',
  act: 'Who is really acting: you. Whoever audits a request logs both, sub and act.',
  impersonation:
    "This deployment's own claim, from its getCustomJwtClaims: the reason and the ticket you gave.",
  aud: 'The only API that may accept it.',
  scope: 'What may be done there, and nothing else.',
  client_id: 'The application that exchanged the subject token: this page.',
  iss: 'Who issued it: the identity provider.',
  iat: 'When it was issued.',
  exp: 'When it ends. A JWT cannot be taken back before, so its life is short.',
  jti: 'Its number, for logs. It opens nothing.',
}

export const TIMES = ['iat', 'exp']
