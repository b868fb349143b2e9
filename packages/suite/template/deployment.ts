/**
 * A deployment of oidc-provider-impersonation that runs: `npx token-exchange-suite deployment.ts`. It changes nothing but
 * the records it issues, and revokes these at the end. What it is comes from the environment:
 *
 * - `SUITE_ISSUER`: the issuer
 * - `SUITE_BACKEND_ID`, `SUITE_BACKEND_SECRET`: the management client, with `subject-tokens:create` and `:revoke`
 * - `SUITE_CLIENT_ID`, `SUITE_CLIENT_SECRET`: the application that exchanges; without a secret, a public one
 * - `SUITE_USER`, `SUITE_RESOURCE`, `SUITE_SCOPES`: a user for tests, and what to ask for
 *
 * And, if they apply:
 *
 * - `SUITE_MANAGEMENT_RESOURCE`: if it is not the issuer's host and `/api`
 * - `SUITE_SUBJECT`, `SUITE_AUDIENCE`: if `sub` is not the user's id, and `aud` not the resource
 * - `SUITE_CONTEXT`: the `context` as JSON, if the deployment requires keys; `{"reason":"token-exchange-suite"}` unless set
 * - `SUITE_ACTOR_TOKEN`, `SUITE_ACTOR`: an actor token and its `sub`, for delegation
 * - `SUITE_OTHER_CLIENT_ID`: another client that may exchange, whose subject tokens this one must not exchange
 * - `SUITE_OPAQUE_RESOURCE`, `SUITE_OPAQUE_SCOPES`, `SUITE_OPAQUE_AUDIENCE`: a resource whose tokens are opaque
 * - `SUITE_INTROSPECTING_ID`, `SUITE_INTROSPECTING_SECRET`: a client that may introspect
 * - `SUITE_API_ID`, `SUITE_API_SECRET`, `SUITE_DOWNSTREAM_RESOURCE`, `SUITE_DOWNSTREAM_SCOPES`: the client of the API behind
 *   `SUITE_RESOURCE`, and the API that it calls for its users; `SUITE_DOWNSTREAM_AUDIENCE`, if `aud` is not that resource
 * - `SUITE_DPOP`: `1` if the deployment supports DPoP
 */
import { deployment } from 'token-exchange-suite/deployment'

export default deployment(process.env)
