import type { Call } from './call.ts'
import { invalidResponse } from './errors.ts'
import type { ExchangedToken, ExchangeRequest } from './requests.ts'
import type { RequestToken } from './token-endpoint.ts'

const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'

/** A token exchange (RFC 8693 §2.1) by the client itself. */
export function exchange(
  call: Call,
  requestToken: RequestToken,
  request: ExchangeRequest,
): Promise<ExchangedToken> {
  const { subjectToken, actorToken, resource, scope } = request
  return call.run(async () => {
    const response = await requestToken(call, {
      grantType: 'urn:ietf:params:oauth:grant-type:token-exchange',
      parameters: {
        subject_token: subjectToken,
        subject_token_type: ACCESS_TOKEN_TYPE,
        ...(actorToken !== undefined && { actor_token: actorToken, actor_token_type: ACCESS_TOKEN_TYPE }),
        ...(resource !== undefined && { resource }),
        ...(scope !== undefined && { scope }),
      },
    })
    const { access_token: accessToken, expires_in: expiresIn, scope: granted } = response
    if (expiresIn === undefined) throw invalidResponse(200, 'a token without expires_in')
    return { accessToken, expiresIn, ...(granted !== undefined && { scope: granted }) }
  })
}
