/** The flow as requests to paste into bash, one after the other. */
import { createHash, randomBytes } from 'node:crypto'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../src/index.ts' // yours: 'oidc-provider-impersonation'
import { deskCallback, supportBackend, supportDesk } from './clients.ts'

export function curlLines(baseUrl: string): string {
  const callback = deskCallback(baseUrl)
  const verifier = randomBytes(32).toString('base64url')
  const request = new URLSearchParams({
    ...{ client_id: supportDesk.client_id, response_type: 'code', scope: 'openid', redirect_uri: callback },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  return `# 1. Sam signs in at the support desk. A browser would do what visit does.
JAR=$(mktemp)
visit() { curl -sSfL -b "$JAR" -c "$JAR" -o /dev/null -w '%{url_effective}' "$@"; }
SIGN_IN=$(visit '${baseUrl}/oidc/auth?${request}')
CONSENT=$(visit "$SIGN_IN" -d account=sam)
CALLBACK=$(visit "$CONSENT" -d decision=allow)
ACTOR_TOKEN=$(curl -sSf ${baseUrl}/oidc/token \\
  -d client_id=${supportDesk.client_id} \\
  -d grant_type=authorization_code \\
  -d code=$(sed 's/.*[?&]code=\\([^&]*\\).*/\\1/' <<< "$CALLBACK") \\
  -d code_verifier=${verifier} \\
  -d redirect_uri=${callback} | ${pick('access_token')})

# 2. The backend gets a management token.
MANAGEMENT_TOKEN=$(curl -sSf ${baseUrl}/oidc/token \\
  -u ${supportBackend.client_id}:${supportBackend.client_secret} \\
  -d grant_type=client_credentials \\
  -d resource=${baseUrl}/api \\
  -d scope=subject-tokens:create | ${pick('access_token')})

# 3. The backend has decided that Sam may become Alice, and gets a subject token for her.
SUBJECT_TOKEN=$(curl -sSf ${baseUrl}/api/subject-tokens \\
  -H "Authorization: Bearer $MANAGEMENT_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"userId": "alice", "actorId": "sam", "readOnly": true, "context": {"reason": "A teapot is missing", "ticketId": "T-1"}}' | ${pick('subjectToken')})

# 4. The support desk exchanges it, once, for an access token for Alice that names Sam.
ACCESS_TOKEN=$(curl -sSf ${baseUrl}/oidc/token \\
  -d client_id=${supportDesk.client_id} \\
  -d grant_type=${TOKEN_EXCHANGE} \\
  -d subject_token=$SUBJECT_TOKEN \\
  -d subject_token_type=${ACCESS_TOKEN_TYPE} \\
  -d actor_token=$ACTOR_TOKEN \\
  -d actor_token_type=${ACCESS_TOKEN_TYPE} \\
  -d resource=${baseUrl}/orders-api \\
  -d scope=orders:read | ${pick('access_token')})

# 5. The support desk calls the API.
curl -sSf ${baseUrl}/orders-api/orders -H "Authorization: Bearer $ACCESS_TOKEN"; echo
`
}

/** Extracts one string from a JSON response. */
const pick = (member: string): string => `sed -n 's/.*"${member}":"\\([^"]*\\)".*/\\1/p'`
