/**
 * Type confusion (RFC 8725 §3.11; protocol.md §8.1): each kind of token at each door, with and without an actor token, with
 * the option on and off. What is accepted is accepted by one door only.
 */
import { expect } from 'chai'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { webClient } from '../../../fixtures/clients.ts'
import { type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import { anyActor, EVERY_TOKEN, everyClient, everyGrant } from '../../../fixtures/every-token.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { apiClient, billingApi, downstream, LEDGER, passOn } from '../../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'

const web = { client: webClient() }

/** What a client reads, in short. */
const outcome = ({ status, body }: HttpResponse): string =>
  status === 200 ? 'accepted' : (body.error_description ?? body.error)

const UNAUTHORIZED = 'the client may not exchange access tokens'
const BAD = 'subject_token is invalid'
const BAD_ACTOR = 'actor_token is invalid'
const NO_ACTOR = 'actor_token is not supported'

describe('on behalf of: type confusion', () => {
  let on: Deployment
  let off: Deployment
  before(async () => {
    const overrides = { clients: everyClient, configuration: everyGrant }
    const options = { maxDelegationDepth: 3 }
    on = await startDeployment(downstream({ ...options, onBehalfOf: { hops: 2 } }, overrides))
    const lists = { statusList: { uri: `${on.baseUrl}/api/status-lists` } }
    off = await startDeployment({
      ...downstream({ ...options, ...lists, onBehalfOf: false }, overrides),
      database: on.database,
      issuer: on.issuer,
    })
  })
  after(async () => {
    await off.close()
    await on.close()
  })

  for (const { title, make, received, acts } of EVERY_TOKEN) {
    it(`${title}: at each door as subject token`, async () => {
      const token = await make(on)
      expect(token, 'a token').to.be.a('string').with.length.greaterThan(10)
      const actor = await anyActor(on)
      const asApplication = (deployment: Deployment, changes = {}) =>
        exchange(deployment, { subject_token: token, ...changes }, web)
      expect([
        outcome(await passOn(on, token)),
        outcome(await passOn(on, token, actor)),
        outcome(await asApplication(on)),
        outcome(await asApplication(on, actor)),
        outcome(await passOn(off, token)),
        outcome(await passOn(off, token, actor)),
        outcome(await asApplication(off)),
        outcome(await asApplication(off, actor)),
      ]).to.deep.equal([received ? 'accepted' : BAD, NO_ACTOR, UNAUTHORIZED, NO_ACTOR, BAD, BAD, BAD, BAD])
    })

    it(`${title}: at each door as actor token`, async () => {
      const actor = withActor(await make(on))
      const received = await actorToken(on, { accountId: 'erin', format: 'jwt', scope: 'orders:read' })
      for (const deployment of [on, off]) {
        const { subjectToken } = await issue(on, { userId: 'dave' })
        const asActor = await exchange(deployment, { subject_token: subjectToken, ...actor }, web)
        expect(outcome(asActor)).to.equal(acts ? 'accepted' : BAD_ACTOR)
      }
      expect(outcome(await passOn(on, received, actor))).to.equal(NO_ACTOR)
      expect(outcome(await passOn(off, received, actor))).to.equal(BAD)
    })
  }

  it('a subject token is for applications, not for APIs, and not for acting', async () => {
    for (const deployment of [on, off]) {
      const { subjectToken } = await issue(on)
      const { subjectToken: other } = await issue(on, { userId: 'dave' })
      const actor = await anyActor(on)
      expect(outcome(await passOn(deployment, subjectToken))).to.equal(BAD)
      expect(outcome(await passOn(deployment, subjectToken, actor))).to.equal(BAD)
      const asActor = { subject_token: other, ...withActor(subjectToken) }
      expect(outcome(await exchange(deployment, asActor, web))).to.equal(BAD_ACTOR)
      expect(outcome(await exchange(deployment, { subject_token: subjectToken }, web))).to.equal('accepted')
    }
  })

  it('a token that an API was given is for the API it names, and for that one only', async () => {
    const [child] = EVERY_TOKEN.filter(({ title }) => title === 'a token that an API was given')
    const token = (await child?.make(on)) ?? ''
    expect(outcome(await passOn(on, token, { resource: LEDGER }, { client: billingApi() }))).to.equal(
      'accepted',
    )
    expect(outcome(await passOn(on, token, { resource: LEDGER }, { client: apiClient() }))).to.equal(BAD)
    expect(outcome(await exchange(on, { subject_token: token }, web))).to.equal(UNAUTHORIZED)
  })
})
