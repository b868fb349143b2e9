/** The subject token at the exchange (protocol.md §3.2): one fixed text for everything that can be wrong with it. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient, webClient } from '../../fixtures/clients.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { storeClient } from '../../fixtures/registration.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { BY_API } from '../../fixtures/subject-tokens.ts'
import { epochTime } from '../../src/clock.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { mintToken } from '../../src/subject-tokens/secret.ts'
import { expectRefused, onlyEvent } from './refusals.ts'

/** Where the secret begins in a subject token. */
const SECRET_AT = 26

const SUBJECT = { error: 'invalid_request', description: 'subject_token is invalid', check: 'subject_token' }

describe('token exchange: the subject token', () => {
  let deployment: Deployment
  beforeEach(async () => {
    deployment = await startDeployment()
  })
  afterEach(() => deployment.close())

  const send = (subjectToken: string) => exchange(deployment, { subject_token: subjectToken })

  describe('refuses', () => {
    const malformed: [title: string, change: (subjectToken: string) => string][] = [
      ['an unknown token of the right shape', () => mintToken(mintId())],
      ['a token for a session', (token) => token.replace('sub_', 'ses_')],
      ['a token without a character of its id', (token) => token.slice(0, 5) + token.slice(6)],
      ['a token with one more character', (token) => `${token}A`],
      ['one character', () => 'x'],
      ['one space', () => ' '],
      ['50,000 characters', () => 'a'.repeat(50_000)],
      ['a token without its prefix', (token) => token.slice(4)],
      ['a token with a space before it', (token) => ` ${token}`],
      ['a token with a line feed after it', (token) => `${token}\n`],
      ['a token with a NUL after it', (token) => `${token}\0`],
      ['a token with base64 padding', (token) => `${token}=`],
      ['a token with its prefix in capitals', (token) => token.replace('sub_', 'SUB_')],
      ['a token whose case is changed', (token) => `sub_${swapCase(token.slice(4))}`],
      ['characters beyond ASCII', () => 'sub_🎫'],
      ['something that looks like SQL', () => `' OR '1'='1`],
      ['something that looks like a JWT', () => 'e30.e30.e30'],
    ]
    for (const [title, change] of malformed) {
      it(title, () =>
        expectRefused(deployment, { attempt: (subjectToken) => send(change(subjectToken)), ...SUBJECT }),
      )
    }

    it('60,000 characters, before the handler', () =>
      expectRefused(deployment, {
        attempt: () => send('a'.repeat(60_000)),
        error: 'invalid_request',
        check: null,
      }))

    it('the public id of a token', async () => {
      const { id } = await issue(deployment)
      const response = await send(id)
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    })

    it('the stored hash of a token', async () => {
      const { subjectToken, id } = await issue(deployment)
      const store = createSubjectTokenStore(deployment.database.sequelize)
      const { tokenHash } = (await store.find(deployment.issuer, id)) ?? expect.fail()
      for (const attempt of [tokenHash, `sub_${tokenHash}`, subjectToken.slice(0, SECRET_AT) + tokenHash]) {
        const response = await send(attempt)
        expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      }
      expect((await send(subjectToken)).status).to.equal(200)
    })

    it('an access token it was exchanged for', async () => {
      const { subjectToken } = await issue(deployment)
      const { body } = await send(subjectToken)
      const response = await send(body.access_token)
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    })

    it('a token bound to another client', () =>
      expectRefused(deployment, {
        issued: { clientId: 'web' },
        attempt: send,
        valid: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken }, { client: webClient() }),
        ...SUBJECT,
      }))

    it('a token bound to a client id that differs in case', async () => {
      await storeClient(deployment, publicClient({ client_id: 'SPA' }))
      const { subjectToken } = await issue(deployment, { clientId: 'SPA' })
      const response = await send(subjectToken)
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    })

    it('a token bound to another resource', () =>
      expectRefused(deployment, {
        issued: { resource: API },
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API }),
        ...SUBJECT,
      }))

    it('a token bound to several resources, for one that is none of them', () =>
      expectRefused(deployment, {
        issued: { resource: [API, 'https://elsewhere.example.com'] },
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API }),
        ...SUBJECT,
      }))

    it('a token bound to an actor when no actor token comes', async () => {
      const token = await actorToken(deployment)
      await expectRefused(deployment, {
        issued: { actorId: 'bob' },
        attempt: send,
        valid: (subjectToken) => exchange(deployment, { subject_token: subjectToken, ...withActor(token) }),
        ...SUBJECT,
      })
    })

    it('a token bound to another actor', async () => {
      const [bob, carol] = [
        await actorToken(deployment),
        await actorToken(deployment, { accountId: 'carol' }),
      ]
      await expectRefused(deployment, {
        issued: { actorId: 'bob' },
        attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken, ...withActor(carol) }),
        valid: (subjectToken) => exchange(deployment, { subject_token: subjectToken, ...withActor(bob) }),
        ...SUBJECT,
      })
    })
  })

  it('takes a token bound to several resources for any of them, and for one', async () => {
    const several = Array.from({ length: 6 }, (_, index) => `https://${index}.example.com`)
    for (const resource of [API, OPAQUE_API]) {
      const { subjectToken, id } = await issue(deployment, { resource: [OPAQUE_API, ...several, API] })
      const response = await exchange(deployment, { subject_token: subjectToken, resource })
      expect(response.status, response.text).to.equal(200)
      const store = createSubjectTokenStore(deployment.database.sequelize)
      const record = (await store.find(deployment.issuer, id)) ?? expect.fail()
      expect(record.resource, 'as it was sent').to.deep.equal([OPAQUE_API, ...several, API])
      expect(record.use?.resource).to.equal(resource)
    }
  })

  it('refuses the token of a user that no longer exists, and tells only the operator why', async () => {
    const { subjectToken, id } = await issue(deployment, { userId: 'carol' })
    deployment.accounts.disable('carol')
    const response = await send(subjectToken)
    expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    const { check, reason, id: refused } = onlyEvent(deployment, 'subject_token.refused')
    expect([check, reason]).to.deep.equal(['subject_token', 'the user is gone or disabled'])
    expect(refused ?? id).to.equal(id)
  })

  it('refuses a user whom findAccount no longer knows by the stored id', async () => {
    const renamed = { accountId: 'alice-2', claims: () => ({ sub: 'alice-2' }) }
    let moved = false
    const findAccount = async (ctx: unknown, id: string) =>
      moved ? renamed : deployment.accounts.findAccount(ctx, id)
    await withDeployment({ configuration: { findAccount } }, async (other) => {
      const { subjectToken } = await issue(other)
      moved = true
      const response = await exchange(other, { subject_token: subjectToken })
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    })
  })

  it('accepts a token until the second before it expires, and not in that second', async () => {
    const clock = stopClock()
    try {
      const [late, inTime] = [
        await issue(deployment, { expiresIn: 60 }),
        await issue(deployment, { expiresIn: 60 }),
      ]
      clock.tick(59)
      expect((await send(inTime.subjectToken)).status).to.equal(200)
      clock.tick(1)
      const before = deployment.events.length
      const response = await send(late.subjectToken)
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      const { check, reason, id } = onlyEvent(deployment, 'subject_token.refused', before)
      expect([check, reason]).to.deep.equal(['subject_token', 'expired'])
      expect(id ?? late.id).to.equal(late.id)
    } finally {
      clock.restore()
    }
  })

  it('refuses a token that expires while the claims function runs', async () => {
    const clock = stopClock()
    const getCustomJwtClaims = () => {
      clock.tick(60)
      return {}
    }
    try {
      await withDeployment({ options: { getCustomJwtClaims } }, async (slow) => {
        const { subjectToken } = await issue(slow, { expiresIn: 60 })
        const response = await exchange(slow, { subject_token: subjectToken })
        expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
        expect(onlyEvent(slow, 'subject_token.refused').reason).to.equal('expired')
      })
    } finally {
      clock.restore()
    }
  })

  it('refuses a revoked token', async () => {
    const { subjectToken, id } = await issue(deployment)
    await createSubjectTokenStore(deployment.database.sequelize).revoke(
      deployment.issuer,
      id,
      epochTime(),
      BY_API,
    )
    const response = await send(subjectToken)
    expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    const event = onlyEvent(deployment, 'subject_token.refused')
    expect([event.check, event.reason]).to.deep.equal(['subject_token', 'revoked'])
  })

  it('refuses a token that is revoked while the claims function runs', async () => {
    const revoke: { now?: () => Promise<unknown> } = {}
    const getCustomJwtClaims = async () => {
      await revoke.now?.()
      return {}
    }
    await withDeployment({ options: { getCustomJwtClaims } }, async (slow) => {
      const { subjectToken, id } = await issue(slow)
      const store = createSubjectTokenStore(slow.database.sequelize)
      revoke.now = () => store.revoke(slow.issuer, id, epochTime(), BY_API)
      const response = await exchange(slow, { subject_token: subjectToken })
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      expect(onlyEvent(slow, 'subject_token.refused').reason).to.equal('revoked')
    })
  })

  it('refuses a used token, and distinguishes it only in the event', async () => {
    const { subjectToken, id } = await issue(deployment)
    expect((await send(subjectToken)).status).to.equal(200)
    const before = deployment.events.length
    const response = await send(subjectToken)
    expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    const replayed = onlyEvent(deployment, 'subject_token.replayed', before)
    expect(replayed).to.include({ id, userId: 'alice', clientId: 'spa', usedBy: 'spa', resource: API })
    expect(replayed.ended).to.equal('now')
  })

  it('reports a replay from another client, after the expiry, or for a bad target, too', async () => {
    const clock = stopClock()
    try {
      const { subjectToken } = await issue(deployment, { clientId: 'spa' })
      expect((await send(subjectToken)).status).to.equal(200)
      clock.tick(3600)
      const before = deployment.events.length
      const replay = { subject_token: subjectToken, resource: 'https://unknown.example.com' }
      const response = await exchange(deployment, replay, { client: webClient() })
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      expect(onlyEvent(deployment, 'subject_token.replayed', before).clientId).to.equal('web')
    } finally {
      clock.restore()
    }
  })

  it('responds to every bad subject token with the same bytes', async () => {
    const [used, bound, gone, expired] = [
      await issue(deployment),
      await issue(deployment, { clientId: 'web' }),
      await issue(deployment, { userId: 'dave' }),
      await issue(deployment, { expiresIn: 1 }),
    ]
    await send(used.subjectToken)
    deployment.accounts.disable('dave')
    const clock = stopClock(Date.now() + 2000)
    const responses: HttpResponse[] = []
    try {
      for (const token of [used, bound, gone, expired]) responses.push(await send(token.subjectToken))
      for (const token of [mintToken(mintId()), 'malformed']) responses.push(await send(token))
    } finally {
      clock.restore()
    }
    expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([400]))
    expect(new Set(responses.map(({ text }) => text))).to.have.lengthOf(1)
    const headerNames = responses.map(({ headers }) => [...headers.keys()].join())
    expect(new Set(headerNames)).to.have.lengthOf(1)
  })

  describe('of another issuer on the same database', () => {
    let database: Database
    beforeEach(async () => {
      database = await openDatabase('sqlite')
    })
    afterEach(() => database.close())

    it('is refused, and stays usable where it belongs', () =>
      withDeployment({ database }, (one) =>
        withDeployment({ database }, async (two) => {
          const { subjectToken } = await issue(one)
          const response = await exchange(two, { subject_token: subjectToken })
          expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
          expect(onlyEvent(two, 'subject_token.refused').reason).to.equal('unknown')
          expect((await exchange(one, { subject_token: subjectToken })).status).to.equal(200)
        }),
      ))
  })
})

const swapCase = (text: string) =>
  text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
