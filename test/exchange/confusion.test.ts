/** Type confusion (RFC 8725 §3.11): no other token passes for a subject token, nor for an actor token. */
import { createPublicKey } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt, SignJWT } from 'jose'
import type { Client } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { webClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { authorizationCode, login, loginClient } from '../../fixtures/logins.ts'
import { exchange, issue, managementToken, postToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { ACCESS_TOKEN_TYPE } from '../../src/index.ts'
import { expectActorRefused, expectRefused } from './refusals.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const portal = loginClient()
const machine = webClient({
  client_id: 'service',
  client_secret: 'service-secret',
  grant_types: ['client_credentials', DEVICE_CODE],
  redirect_uris: [],
  response_types: [],
})

async function clientOf({ provider }: Deployment, clientId: string): Promise<Client> {
  const client = await provider.Client.find(clientId)
  if (!client) throw new Error(`no client ${clientId}`)
  return client
}

/** What the provider itself would send to a client's backchannel_logout_uri. */
async function logoutToken(deployment: Deployment): Promise<string> {
  const client = await clientOf(deployment, 'portal')
  const token = new deployment.provider.IdToken({ sub: 'bob' }, { client, ctx: undefined } as never)
  token.set('events', { 'http://schemas.openid.net/event/backchannel-logout': {} })
  token.set('jti', unique('jti'))
  token.set('sub', 'bob')
  token.set('scope', 'openid')
  token.set('client_id', 'portal')
  return token.issue({ use: 'logout' })
}

async function deviceCode(deployment: Deployment): Promise<string> {
  const code = new deployment.provider.DeviceCode({
    client: await clientOf(deployment, 'service'),
    accountId: 'bob',
    gty: DEVICE_CODE,
    scope: 'openid',
    params: { client_id: 'service', scope: 'openid' },
    userCode: unique('CODE').toUpperCase(),
    deviceInfo: {},
  } as never)
  return code.save()
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token with the claims of a valid actor token, secured by an algorithm that we do not use. */
async function unsigned(deployment: Deployment, alg: string): Promise<string> {
  const claims = decodeJwt(await actorJwt(deployment))
  return `${encode({ alg, typ: 'at+jwt', kid: SIGNING_KEY.kid })}.${encode(claims)}.`
}

async function signedByPublicKey(deployment: Deployment, form: 'pem' | 'jwk'): Promise<string> {
  const key = createPublicKey({ key: SIGNING_KEY as never, format: 'jwk' })
  const secret =
    form === 'pem'
      ? key.export({ format: 'pem', type: 'spki' })
      : JSON.stringify(key.export({ format: 'jwk' }))
  return new SignJWT(decodeJwt(await actorJwt(deployment)))
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: SIGNING_KEY.kid })
    .sign(Buffer.from(secret))
}

const typ = (value: string | undefined) => (deployment: Deployment) =>
  actorJwt(deployment, {}, { header: { typ: value } })

/** Without an actor, so it must not act, no matter which scope it requests. */
const exchanged = (resource: string) => async (deployment: Deployment) => {
  const { subjectToken } = await issue(deployment, { userId: 'dave' })
  const parameters = { subject_token: subjectToken, resource, scope: 'openid orders:read' }
  const { status, body, text } = await exchange(deployment, parameters)
  expect(status, text).to.equal(200)
  return body.access_token as string
}

/** Neither a subject token nor an actor token. */
const CONFUSED: [title: string, make: (deployment: Deployment) => Promise<string>][] = [
  ['an ID token', async (on) => (await login(on)).tokens.id_token],
  ['a refresh token', async (on) => (await login(on)).tokens.refresh_token],
  ['an authorization code', async (on) => (await authorizationCode(on)).code],
  ['a device code', deviceCode],
  ['a logout token', logoutToken],
  [
    'a client assertion',
    (on) =>
      signJwt(
        {
          iss: 'portal',
          sub: 'portal',
          aud: on.issuer,
          client_id: 'portal',
          scope: 'openid',
          iat: now(),
          exp: now() + 60,
        },
        { header: { typ: undefined } },
      ),
  ],
  ['a management token', (on) => managementToken(on)],
  [
    'a token of a client for itself',
    async (on) => {
      const parameters = { grant_type: 'client_credentials', resource: API, scope: 'openid' }
      const { body, text } = await postToken(on, parameters, { client: machine })
      expect(body.scope, text).to.equal('openid')
      return body.access_token
    },
  ],
  ['an impersonation access token, a JWT', exchanged(API)],
  ['an impersonation access token, opaque', exchanged(OPAQUE_API)],
  ['a session id', async (on) => (await authorizationCode(on)).session.uid],
  ['the id of a Grant', async (on) => (await authorizationCode(on)).grantId],
  ['an initial access token', (on) => new on.provider.InitialAccessToken().save()],
  ['the public id of a subject token', async (on) => (await issue(on)).id],
  ['a JWT of another issuer', (on) => actorJwt(on, { iss: 'https://other.example.com/oidc' })],
  [
    'a JWT of another issuer with our key id',
    (on) => actorJwt(on, {}, { key: signingKey('ES256', SIGNING_KEY.kid) }),
  ],
  ['a JWT with alg none', (on) => unsigned(on, 'none')],
  ['a JWT with alg None', (on) => unsigned(on, 'None')],
  ['a JWT without signature', (on) => unsigned(on, 'ES256')],
  ['a JWT by HS256 with our public key in PEM', (on) => signedByPublicKey(on, 'pem')],
  ['a JWT by HS256 with our public key as JWK', (on) => signedByPublicKey(on, 'jwk')],
  ['an expired JWT', (on) => actorJwt(on, { exp: now() - 1 })],
  ['a JWT that expires now', (on) => actorJwt(on, { exp: now() })],
  ['a JWT without expiry', (on) => actorJwt(on, { exp: undefined })],
  ['a JWT that is not valid yet', (on) => actorJwt(on, { nbf: now() + 30 })],
  ['a JWT of typ JWT', typ('JWT')],
  ['a JWT without typ', typ(undefined)],
  ['a JWT of typ dpop+jwt', typ('dpop+jwt')],
  ['a JWT of typ logout+jwt', typ('logout+jwt')],
  ['a JWT of typ token-introspection+jwt', typ('token-introspection+jwt')],
]

describe('token exchange: type confusion', () => {
  const configuration = { features: { deviceFlow: { enabled: true }, registration: { enabled: true } } }
  const overrides = {
    clients: [portal, machine],
    configuration: configuration as never,
    options: { maxDelegationDepth: 2 },
  }
  onSqlite(overrides, (on) => {
    const AS_ACCESS_TOKEN = [
      ...CONFUSED,
      ['an access token', (deployment: Deployment) => actorToken(deployment)],
    ] as const
    for (const [title, make] of AS_ACCESS_TOKEN) {
      it(`refuses ${title} as subject token`, async () => {
        const { deployment } = on
        const confused = await make(deployment)
        await expectRefused(deployment, {
          attempt: () => exchange(deployment, { subject_token: confused }),
          error: 'invalid_request',
          description: 'subject_token is invalid',
          check: 'subject_token',
        })
      })
    }

    for (const [title, make] of [
      ...CONFUSED,
      ['a subject token', async (deployment: Deployment) => (await issue(deployment)).subjectToken],
    ] as const) {
      it(`refuses ${title} as actor token`, async () => {
        const confused = await make(on.deployment)
        await expectActorRefused(on.deployment, confused, { userId: 'erin', validActor: 'carol' })
      })
    }

    it('accepts the JWT that the JWTs above are made from, so each change is the reason for the refusal', async () => {
      for (const actor of [await actorJwt(on.deployment), (await login(on.deployment)).tokens.access_token]) {
        const { subjectToken } = await issue(on.deployment)
        const response = await exchange(on.deployment, { subject_token: subjectToken, ...withActor(actor) })
        expect(response.status, response.text).to.equal(200)
        expect(decodeJwt(response.body.access_token).act).to.deep.equal({ sub: 'bob' })
      }
    })

    it('accepts neither token in place of the other', async () => {
      const actor = await actorToken(on.deployment)
      await expectRefused(on.deployment, {
        attempt: (subjectToken) =>
          exchange(on.deployment, {
            subject_token: actor,
            actor_token: subjectToken,
            actor_token_type: ACCESS_TOKEN_TYPE,
          }),
        error: 'invalid_request',
        description: 'subject_token is invalid',
        check: 'subject_token',
      })
    })

    it('does not trust the declared type of a token', async () => {
      const { tokens } = await login(on.deployment)
      for (const [type, token] of [
        ['id_token', tokens.id_token],
        ['jwt', await actorJwt(on.deployment)],
        ['refresh_token', tokens.refresh_token],
        ['saml2', 'PHNhbWw+'],
      ]) {
        const declared = `urn:ietf:params:oauth:token-type:${type}`
        await expectRefused(on.deployment, {
          attempt: () => exchange(on.deployment, { subject_token: token, subject_token_type: declared }),
          error: 'invalid_request',
          description: 'subject_token_type is not supported',
          check: 'request',
        })
      }
    })
  })
})
