/** Actor tokens in JWT form (protocol.md §3.3; RFC 8725, RFC 9068 §4): each forgery starts from a valid token. */
import { expect } from 'chai'
import { decodeJwt, SignJWT } from 'jose'
import type { JWK } from 'oidc-provider'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { expectActorRefused } from './refusals.ts'

describe('token exchange: an actor token in JWT form', () => {
  let deployment: Deployment
  before(async () => {
    const pairwise = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })
    deployment = await startDeployment({
      clients: [pairwise],
      configuration: {
        subjectTypes: ['public', 'pairwise'],
        pairwiseIdentifier: (_ctx, accountId, client) => `${accountId}@${client.clientId}`,
      },
    })
  })
  after(() => deployment.close())

  const send = (subjectToken: string, actor: string) =>
    exchange(deployment, { subject_token: subjectToken, ...withActor(actor) })

  const forged: [title: string, make: () => Promise<string>][] = [
    ['with a signature of another key under our kid', () => actorJwt(deployment, {}, { key: signingKey() })],
    [
      'with a signature of another key without kid',
      () => actorJwt(deployment, {}, { key: signingKey(), header: { kid: undefined } }),
    ],
    ['of another issuer', () => actorJwt(deployment, { iss: 'https://evil.example.com' })],
    ['without issuer', () => actorJwt(deployment, { iss: undefined })],
    ['without expiry', () => actorJwt(deployment, { exp: undefined })],
    ['that expired a second ago', () => actorJwt(deployment, { exp: now() - 1 })],
    ['whose expiry is a string', () => actorJwt(deployment, { exp: `${now() + 600}` })],
    ['that is not valid yet', () => actorJwt(deployment, { nbf: now() + 5 })],
    ['without subject', () => actorJwt(deployment, { sub: undefined })],
    ['whose subject is not a string', () => actorJwt(deployment, { sub: ['bob'] })],
    ['of an account that does not exist', () => actorJwt(deployment, { sub: 'unknown' })],
    ['of an alias of an account', () => actorJwt(deployment, { sub: 'alias:bob' })],
    ['without client_id', () => actorJwt(deployment, { client_id: undefined })],
    ['whose client_id is not a string', () => actorJwt(deployment, { client_id: ['spa'] })],
    ['of a client that no longer exists', () => actorJwt(deployment, { client_id: 'gone' })],
    ['of a client for itself', () => actorJwt(deployment, { sub: 'spa' })],
    ['without scope', () => actorJwt(deployment, { scope: undefined })],
    ['whose scope is an array', () => actorJwt(deployment, { scope: ['openid'] })],
    ['whose audience is not a string', () => actorJwt(deployment, { aud: 7 })],
    ['with an audience that is not a string', () => actorJwt(deployment, { aud: ['https://a.example', {}] })],
    ['with typ JWT', () => actorJwt(deployment, {}, { header: { typ: 'JWT' } })],
    ['without typ', () => actorJwt(deployment, {}, { header: { typ: undefined } })],
    ['with typ logout+jwt', () => actorJwt(deployment, {}, { header: { typ: 'logout+jwt' } })],
    [
      'with a critical header that no one knows',
      () => actorJwt(deployment, {}, { header: { x: 1 } }).then(withCrit),
    ],
    ['of a pairwise client', () => actorJwt(deployment, { client_id: 'pairwise' })],
    ['bound to an unknown kind of key', () => actorJwt(deployment, { cnf: { kid: 'x' } })],
    [
      'bound to a known and an unknown kind of key',
      () => actorJwt(deployment, { cnf: { jkt: 'x', jwe: 'y' } }),
    ],
    ['bound to nothing in particular', () => actorJwt(deployment, { cnf: {} })],
    ['whose confirmation is a string', () => actorJwt(deployment, { cnf: 'jkt' })],
    ['whose confirmation is null', () => actorJwt(deployment, { cnf: null })],
    ['without signature (alg none)', () => actorJwt(deployment).then(withoutSignature)],
    ['without its signature', () => actorJwt(deployment).then((jwt) => jwt.replace(/[^.]+$/, ''))],
    ['with changed claims', () => actorJwt(deployment).then(withChangedClaims)],
    ['with a line break behind it', () => actorJwt(deployment).then((jwt) => `${jwt}\n`)],
    ['with a space in its signature', () => actorJwt(deployment).then((jwt) => jwt.replace(/.{3}$/, ' $&'))],
    ['signed by HS256 with our public key', () => signedWithPublicKey(deployment)],
  ]
  for (const [title, make] of forged) {
    it(`is refused: one ${title}`, async () => expectActorRefused(deployment, await make()))
  }

  it('is accepted if it is valid from this second', async () => {
    const { subjectToken } = await issue(deployment)
    expect((await send(subjectToken, await actorJwt(deployment, { nbf: now() }))).status).to.equal(200)
  })
})

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const part = (jwt: string, index: number) =>
  JSON.parse(Buffer.from(jwt.split('.')[index] ?? '', 'base64url').toString())

const withoutSignature = (jwt: string) => `${encode({ alg: 'none', typ: 'at+jwt' })}.${jwt.split('.')[1]}.`
const withChangedClaims = (jwt: string) => {
  const [header, , signature] = jwt.split('.')
  return `${header}.${encode({ ...part(jwt, 1), sub: 'carol' })}.${signature}`
}
const withCrit = (jwt: string) => {
  const [, claims, signature] = jwt.split('.')
  return `${encode({ ...part(jwt, 0), crit: ['x'] })}.${claims}.${signature}`
}

/** The classic confusion: a public key used as a secret. */
async function signedWithPublicKey(deployment: Deployment): Promise<string> {
  const { d: _private, ...jwk } = SIGNING_KEY as JWK & { d: string }
  const claims = decodeJwt(await actorJwt(deployment))
  const secret = Buffer.from(JSON.stringify(jwk))
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: jwk.kid, typ: 'at+jwt' }).sign(secret)
}
