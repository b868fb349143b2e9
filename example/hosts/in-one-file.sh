# Beside in-one-file.mjs: bash in-one-file.sh is the engineer, the backend, the support application, then a thief.
# A browser would do what visit does; the development pages of the provider take any password.
set -e
json() { node -pe "JSON.parse(fs.readFileSync(0)).$1"; }
visit() { curl -sL -b "$JAR" -c "$JAR" -o /dev/null -w '%{url_effective}' "$@"; }

# sign in: code and PKCE, with the example verifier of RFC 7636
JAR=$(mktemp)
LOGIN=$(visit "http://127.0.0.1:3000/oidc/auth?client_id=support-desk&response_type=code&scope=openid&\
redirect_uri=http://127.0.0.1:3000/back&code_challenge_method=S256&\
code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
CONSENT=$(visit "$LOGIN" -d prompt=login -d login=sam -d password=any)
BACK=$(visit "$CONSENT" -d prompt=consent)
ACTOR=$(curl -s http://127.0.0.1:3000/oidc/token -d client_id=support-desk -d grant_type=authorization_code \
  -d "code=$(node -p 'new URL(process.argv[1]).searchParams.get("code")' "$BACK")" \
  -d redirect_uri=http://127.0.0.1:3000/back -d code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk | json access_token)

# the backend's own token
MANAGEMENT=$(curl -s http://127.0.0.1:3000/oidc/token -u backend:secret -d grant_type=client_credentials \
  -d resource=http://127.0.0.1:3000/api -d scope=subject-tokens:create | json access_token)
exchange() { curl -s http://127.0.0.1:3000/oidc/token -d client_id=support-desk -d "subject_token=$SUBJECT" \
  -d subject_token_type=urn:ietf:params:oauth:token-type:access_token -d resource=https://api.example.com \
  -d grant_type=urn:ietf:params:oauth:grant-type:token-exchange -d scope=orders:read \
  -d "actor_token=$ACTOR" -d actor_token_type=urn:ietf:params:oauth:token-type:access_token; }

# issue
SUBJECT=$(curl -s http://127.0.0.1:3000/api/subject-tokens -H "Authorization: Bearer $MANAGEMENT" \
  -H 'Content-Type: application/json' -d '{"userId":"alice","actorId":"sam","readOnly":true,"context":{"ticketId":"T-1"}}' | json subjectToken)
# exchange
exchange
# replay: subject_token is invalid
exchange
