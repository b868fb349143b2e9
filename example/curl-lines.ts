/** The flow as four requests to paste into bash, one after the other. */
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../src/index.ts' // yours: 'oidc-provider-impersonation'
import { supportBackend, supportDesk } from './clients.ts'

export function curlLines(baseUrl: string): string {
  return `# 1. The backend gets a management token.
MANAGEMENT_TOKEN=$(curl -sSf ${baseUrl}/oidc/token \\
  -u ${supportBackend.client_id}:${supportBackend.client_secret} \\
  -d grant_type=client_credentials \\
  -d resource=${baseUrl}/api \\
  -d scope=subject-tokens:create | ${pick('access_token')})

# 2. The backend has decided that support may become Alice, and gets a subject token for her.
SUBJECT_TOKEN=$(curl -sSf ${baseUrl}/api/subject-tokens \\
  -H "Authorization: Bearer $MANAGEMENT_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"userId": "alice", "context": {"reason": "A teapot is missing", "ticketId": "T-1"}}' | ${pick('subjectToken')})

# 3. The support desk exchanges it, once, for an access token for Alice.
ACCESS_TOKEN=$(curl -sSf ${baseUrl}/oidc/token \\
  -d client_id=${supportDesk.client_id} \\
  -d grant_type=${TOKEN_EXCHANGE} \\
  -d subject_token=$SUBJECT_TOKEN \\
  -d subject_token_type=${ACCESS_TOKEN_TYPE} \\
  -d resource=${baseUrl}/orders-api \\
  -d scope=orders:read | ${pick('access_token')})

# 4. The support desk calls the API.
curl -sSf ${baseUrl}/orders-api/orders -H "Authorization: Bearer $ACCESS_TOKEN"; echo
`
}

/** Extracts one string from a JSON response. */
const pick = (member: string): string => `sed -n 's/.*"${member}":"\\([^"]*\\)".*/\\1/p'`
