/** A code of a session that is used again ends it, and what else ends its Grant signs out (protocol.md §10.6). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Configuration } from 'oidc-provider'
import { stopClock } from '../../fixtures/clock.ts'
import { credentials, form, send } from '../../fixtures/http.ts'
import { until } from '../../fixtures/until.ts'
import { sessionName } from '../../src/sessions/names.ts'
import { createMemoryStore } from '../../src/testing/index.ts'
import { CALLBACK, CHALLENGE, type Given, type Scene, shop, withArrival } from '../spec/arriving.ts'

const secondUse: readonly (readonly [how: string, given: Given])[] = [
  ['as usual', {}],
  ['within replayLeeway', { options: { replayLeeway: 60 } }],
  [
    'where a policy of the deployment keeps every Grant',
    { configuration: { revokeGrantPolicy: () => false } },
  ],
]

describe('sessions: a code that is used again', () => {
  for (const [how, given] of secondUse) {
    it(`ends the session, and is an alarm on the record: ${how}`, () =>
      withArrival(given, async (opened) => {
        const { id, arrival, application, redeem, userinfo, impersonation } = opened
        const { body } = await redeem(arrival)
        expect((await userinfo(body.access_token)).status).to.equal(200)
        const again = await redeem(arrival, {}, undefined, { 'x-request-id': 'the-second' })
        expect([again.status, again.body.error]).to.deep.equal([400, 'invalid_grant'])
        const record = await impersonation.records.get(id)
        expect(record?.revocation).to.deep.equal({ cause: 'replay' })
        expect(record?.replay).to.deep.equal({ at: record?.revokedAt, clientId: 'shop' })
        expect(await opened.provider.Grant.find(sessionName(id))).to.equal(undefined)
        expect((await userinfo(body.access_token)).status).to.equal(401)
        await until(() => application.told.length === 1)
        expect(application.told[0]?.sid).to.equal(sessionName(id))
        const [event, ...others] = opened.eventsOf('subject_token.replayed')
        expect(event).to.include({ id, clientId: 'shop', usedBy: 'shop', sameClient: true, ended: 'now' })
        expect(others).to.deep.equal([])
        expect(event).to.include({ request: 'the-second' })
        expect(opened.eventsOf('subject_token.revoked')).to.deep.equal([])
      }))
  }

  it('ends the session where two use it at the same moment, and an adapter lets one of them win', () =>
    withArrival({}, async (opened) => {
      const { id, arrival, redeem, impersonation } = opened
      const statuses = (await Promise.all([redeem(arrival), redeem(arrival)])).map(({ status }) => status)
      expect(statuses).to.include(400)
      await until(async () => (await impersonation.records.get(id))?.state === 'revoked')
      const record = await impersonation.records.get(id)
      expect(record?.revocation).to.deep.equal({ cause: 'replay' })
      expect(record?.replay).to.include({ clientId: 'shop' })
    }))

  it('is a failure in the event where storage fails, and the Grant ends all the same', () => {
    const store = createMemoryStore()
    const configuration = { revokeGrantPolicy: () => false }
    return withArrival({ options: { store }, configuration }, async (opened) => {
      const { id, arrival, redeem, provider } = opened
      await redeem(arrival)
      store.recordReplay = async () => {
        throw new Error('private')
      }
      expect((await redeem(arrival)).status).to.equal(400)
      expect(opened.eventsOf('subject_token.replayed')).to.have.nested.property('[0].ended', 'failed')
      expect(await provider.Grant.find(sessionName(id))).to.equal(undefined)
    })
  })

  it('has the application told at once', async () => {
    // No look but those that this process is woken for.
    const clock = stopClock(Date.now(), { intervals: true })
    try {
      await withArrival({}, async ({ arrival, redeem, application }) => {
        await redeem(arrival)
        await redeem(arrival)
        await until(() => application.told.length === 1)
      })
    } finally {
      clock.restore()
    }
  })

  it('is the policy of the deployment where the code is of no session', () => {
    const asked: string[] = []
    const revokeGrantPolicy = () => {
      asked.push('asked')
      return true
    }
    return withArrival({ configuration: { revokeGrantPolicy } }, async (opened) => {
      const client = await opened.provider.Client.find('shop')
      const grant = new opened.provider.Grant({ accountId: 'alice', clientId: 'shop' })
      const members = { accountId: 'alice', client, grantId: await grant.save(), redirectUri: CALLBACK }
      const challenge = { codeChallenge: CHALLENGE, codeChallengeMethod: 'S256', gty: 'authorization_code' }
      const code = await new opened.provider.AuthorizationCode({
        ...{ ...members, ...challenge, scope: 'openid' },
      } as never).save()
      expect((await opened.redeem(opened.arrival, { code })).status).to.equal(200)
      expect((await opened.redeem(opened.arrival, { code })).status).to.equal(400)
      expect(asked).to.deep.equal(['asked'])
      expect((await opened.impersonation.records.get(opened.id))?.state).to.equal('consumed')
    })
  })
})

describe('sessions: what ends a Grant at the provider', () => {
  const revokesToken = ({ issuer }: Scene, token: string) =>
    send(`${issuer}/token/revocation`, {
      method: 'POST',
      headers: credentials(shop()).headers,
      body: form({ token }),
    })
  const configuration: Configuration = {
    features: { revocation: { enabled: true, allowedPolicy: () => true } },
  }

  it('is not the revocation of an access token, which ends alone', () =>
    withArrival({ configuration }, async (opened) => {
      const { body } = await opened.redeem(opened.arrival)
      expect((await revokesToken(opened, body.access_token)).status).to.equal(200)
      expect((await opened.userinfo(body.access_token)).status).to.equal(401)
      expect((await opened.impersonation.records.get(opened.id))?.state).to.equal('consumed')
    }))

  it('signs out, if a policy of the deployment lets that revocation end it', () =>
    withArrival({ configuration: { ...configuration, revokeGrantPolicy: () => true } }, async (opened) => {
      const { id, application, impersonation } = opened
      const { body } = await opened.redeem(opened.arrival)
      await revokesToken(opened, body.access_token)
      await until(() => application.told.length === 1)
      const record = await impersonation.records.get(id)
      expect(record?.revocation).to.deep.equal({ cause: 'signedOut', client: 'shop' })
      expect(record?.replay).to.equal(undefined)
    }))
})

describe('sessions: a stop between the look at the record and the response of the token endpoint', () => {
  it('has the application out after 15 s', async () => {
    const clock = stopClock(Date.now(), { intervals: true })
    const [looked, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let holds = false
    const findAccount = async (_ctx: unknown, accountId: string) => ({
      accountId,
      async claims() {
        if (!holds) return { sub: accountId }
        looked.resolve()
        await stopped.promise
        return { sub: accountId }
      },
    })
    try {
      await withArrival({ configuration: { findAccount } }, async (opened) => {
        const { id, arrival, application, impersonation } = opened
        holds = true
        const redeeming = opened.redeem(arrival)
        await looked.promise
        await impersonation.records.stop({ id })
        await until(async () => (await impersonation.records.get(id))?.session?.logout === 'confirmed')
        expect(application.told).to.have.length(1)
        stopped.resolve()
        const { status, body } = await redeeming
        // The application knows the session from now on, and was told of its end before.
        expect(status).to.equal(200)
        const { sid } = decodeJwt(body.id_token)
        expect((await opened.userinfo(body.access_token)).status).to.equal(401)
        clock.tick(15)
        await until(() => application.told.length === 2)
        expect(application.told[1]?.sid).to.equal(sid)
      })
    } finally {
      clock.restore()
    }
  })
})
