/** `POST /api/subject-tokens/revocations` (protocol.md §2.2): as DELETE, and says who revoked it and why. */
import { expect } from 'chai'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onEachDatabase, onSqlite } from '../../fixtures/each-database.ts'
import { list, manage, postRevocation, revoke, show } from '../../fixtures/management.ts'
import { exchange, introspect, issue, managementToken } from '../../fixtures/requests.ts'

const WHY = { by: 'dora', reason: 'the ticket is closed' }
const REVOCATION = { cause: 'api', client: 'backend' }

describe('management: revocations', () => {
  onEachDatabase({}, (on) => {
    const post = (body: unknown) => postRevocation(on.deployment, body)
    const expectRevoked = async (body: unknown, revoked: number) => {
      const response = await post(body)
      expect([response.status, response.body], response.text).to.deep.equal([200, { revoked }])
      expect(response.headers.get('cache-control')).to.equal('no-store')
    }
    const used = async (resource: string) => {
      const { id, subjectToken } = await issue(on.deployment)
      const { body } = await exchange(on.deployment, { subject_token: subjectToken, resource })
      return { id, accessToken: body.access_token as string }
    }
    const OTHER = 'https://other.example.com'
    const other = () => on.start({ issuer: `${OTHER}/oidc` })
    const foreignToken = async () => managementToken(await other(), { resource: `${OTHER}/api` })
    const recordOf = async (id: string) => (await show(on.deployment, id)).body
    beforeEach(async () => {
      await manage(on.deployment, 'DELETE', '?createdBy=backend')
      on.deployment.events.length = 0
    })

    it('revokes one, and the record and the event say through which client, in whose name and why', async () => {
      const { id } = await used(API)
      await expectRevoked({ id, ...WHY }, 1)
      const revocation = { ...REVOCATION, ...WHY }
      expect(await recordOf(id)).to.deep.include({ revocation, state: 'revoked' })
      expect(on.deployment.events.at(-1)?.payload).to.deep.include({ id, revocation, ended: 'now' })
    })

    it('revokes one without saying why', async () => {
      const { id } = await issue(on.deployment)
      await expectRevoked({ id }, 1)
      expect((await recordOf(id)).revocation).to.deep.equal(REVOCATION)
    })

    it('changes nothing of what was revoked before, and counts 0', async () => {
      const { id } = await issue(on.deployment)
      await expectRevoked({ id, ...WHY }, 1)
      const record = await recordOf(id)
      await expectRevoked({ id, by: 'erin', reason: 'another' }, 0)
      await expectRevoked({ userId: 'alice', by: 'erin', reason: 'another' }, 0)
      expect((await revoke(on.deployment, id)).status).to.equal(204)
      expect(await recordOf(id)).to.deep.equal(record)
      expect(on.deployment.events.filter(({ name }) => name === 'subject_token.revoked')).to.have.length(1)
    })

    for (const [title, body] of [
      ['a user', { userId: 'alice' }],
      ['a user, by an alias', { userId: 'alias:alice' }],
      ['an actor', { actorId: 'carol' }],
      ['a backend', { createdBy: 'backend' }],
    ] as const) {
      it(`revokes all of ${title}, with the reason on every record`, async () => {
        const [one, two] = [
          await issue(on.deployment, { actorId: 'carol' }),
          await issue(on.deployment, { actorId: 'carol' }),
        ]
        await expectRevoked({ ...body, ...WHY }, 2)
        for (const { id } of [one, two])
          expect((await recordOf(id)).revocation).to.deep.equal({ ...REVOCATION, ...WHY })
        await expectRevoked({ ...body, ...WHY }, 0)
      })
    }

    it('says that the engineer has ended it, in the word of the backend', async () => {
      const { id } = await used(API)
      await expectRevoked({ id, cause: 'self', ...WHY }, 1)
      const revocation = { cause: 'self', client: 'backend', ...WHY }
      expect(await recordOf(id)).to.deep.include({ revocation, state: 'revoked' })
      expect(on.deployment.events.at(-1)?.payload).to.deep.include({ id, revocation, revokedBy: 'backend' })
    })

    it('says which record goes on', async () => {
      const [{ id }, next] = [await used(API), await issue(on.deployment)]
      await expectRevoked({ id, cause: 'continued', continuedBy: next.id }, 1)
      const revocation = { cause: 'continued', client: 'backend', continuedBy: next.id }
      expect(await recordOf(id)).to.deep.include({ revocation, state: 'revoked' })
      expect(on.deployment.events.at(-1)?.payload).to.deep.include({ id, revocation })
      expect((await recordOf(next.id)).state).to.equal('active')
    })

    for (const [title, continuedBy] of [
      ['itself', (id: string) => id],
      ['an unknown record', () => '0'.repeat(32)],
      ['no id', () => 'next'],
      ['a record of another user', async () => (await issue(on.deployment, { userId: 'dave' })).id],
      ['a record of another issuer', async () => (await issue(await other(), {}, await foreignToken())).id],
    ] as const) {
      it(`does not go on in ${title}: 400, and nothing is revoked`, async () => {
        const { id } = await issue(on.deployment)
        const response = await post({ id, cause: 'continued', continuedBy: await continuedBy(id) })
        expect([response.status, response.body], response.text).to.deep.equal([
          400,
          {
            error: 'invalid_request',
            error_description: 'continuedBy must be the id of another record of the same user',
          },
        ])
        expect((await recordOf(id)).state).to.equal('active')
      })
    }

    it('responds with 404 to an unknown id before it looks for the record that goes on', async () => {
      const response = await post({ id: '0'.repeat(32), cause: 'continued', continuedBy: '0'.repeat(32) })
      expect([response.status, response.body.error]).to.deep.equal([404, 'not_found'])
    })

    it('says how many nothing could end, and shows them as live until they expire', async () => {
      const deployment = await on.start({ options: { statusList: false } })
      const exchanged = async (resource: string) => {
        const { id, subjectToken } = await issue(deployment, { userId: 'erin' })
        await exchange(deployment, { subject_token: subjectToken, resource })
        return id
      }
      const [jwt, , opaque] = [await exchanged(API), await exchanged(API), await exchanged(OPAQUE_API)]
      await issue(deployment, { userId: 'erin' })
      const one = await postRevocation(deployment, { id: jwt, cause: 'self' })
      expect(one.body).to.deep.equal({ revoked: 1, kept: 1 })
      expect(deployment.events.at(-1)?.payload).to.deep.include({
        revocation: { cause: 'self', client: 'backend', ended: 'kept' },
        ended: 'kept',
      })
      expect((await postRevocation(deployment, { userId: 'erin' })).body).to.deep.equal({
        revoked: 3,
        kept: 1,
      })
      expect((await postRevocation(deployment, { userId: 'erin' })).body).to.deep.equal({ revoked: 0 })
      const kept = { cause: 'self', client: 'backend', ended: 'kept' }
      expect((await show(deployment, jwt)).body).to.deep.include({ state: 'revoked', revocation: kept })
      expect((await show(deployment, opaque)).body.revocation).to.deep.equal(REVOCATION)
      expect((await list(deployment, { live: 'true', userId: 'erin' })).body.items).to.have.length(2)
    })

    it('says nothing of them to DELETE', async () => {
      const deployment = await on.start({ options: { statusList: false } })
      const { subjectToken } = await issue(deployment, { userId: 'erin' })
      await exchange(deployment, { subject_token: subjectToken })
      expect((await manage(deployment, 'DELETE', '?userId=erin')).body).to.deep.equal({ revoked: 1 })
    })

    it('ends an opaque access token at once', async () => {
      const { id, accessToken } = await used(OPAQUE_API)
      await expectRevoked({ id }, 1)
      expect(await introspect(on.deployment, accessToken)).to.deep.equal({ active: false })
    })

    it('accepts a reason of 1,000 characters of four bytes, and keeps it as it is', async () => {
      const { id } = await issue(on.deployment)
      const says = { by: '🎫'.repeat(255), reason: ` ${'🎫'.repeat(998)}\n` }
      await expectRevoked({ id, ...says }, 1)
      expect((await recordOf(id)).revocation).to.deep.equal({ ...REVOCATION, ...says })
    })
  })
})

describe('management: a refused request to revoke', () => {
  onSqlite({}, (on) => {
    for (const id of ['0'.repeat(32), 'x', 'summary', '../x']) {
      it(`responds with 404 to the unknown id ${id}`, async () => {
        const response = await postRevocation(on.deployment, { id })
        expect([response.status, response.body], response.text).to.deep.equal([
          404,
          { error: 'not_found', error_description: 'subject token not found' },
        ])
      })
    }

    const AN_ID = '0'.repeat(32)
    const REASON = 'reason must be a string of 1 to 1000 characters, and must not be blank'
    const named = (field: string) => `${field} must be a string of 1 to 255 characters`
    const refused: [body: unknown, description: string][] = [
      [{}, 'id, userId, actorId or createdBy is required'],
      [WHY, 'id, userId, actorId or createdBy is required'],
      [{ id: AN_ID, userId: 'alice' }, 'userId must not come with id'],
      [{ createdBy: 'backend', actorId: 'carol' }, 'createdBy must not come with actorId'],
      [{ userId: 'alice', id: null }, 'userId must not come with id'],
      [{ id: null }, named('id')],
      [{ id: 7 }, named('id')],
      [{ userId: '' }, named('userId')],
      [{ userId: ['alice'] }, named('userId')],
      [{ actorId: 'x'.repeat(256) }, named('actorId')],
      [{ createdBy: 'back\0end' }, named('createdBy')],
      [{ userId: 'alice', by: '' }, named('by')],
      [{ userId: 'alice', by: null }, named('by')],
      [{ userId: 'alice', by: '\ud800' }, named('by')],
      [{ userId: 'alice', reason: '' }, REASON],
      [{ userId: 'alice', reason: ' \n\u00a0' }, REASON],
      [{ userId: 'alice', reason: null }, REASON],
      [{ userId: 'alice', reason: 'a\0' }, REASON],
      [{ userId: 'alice', reason: '🎫'.repeat(1001) }, REASON],
      [{ userId: 'alice', clientId: 'spa' }, 'unknown member: clientId'],
      [{ id: AN_ID, cause: 'console' }, 'cause must be self or continued'],
      [{ id: AN_ID, cause: 'api' }, 'cause must be self or continued'],
      [{ id: AN_ID, cause: null }, 'cause must be self or continued'],
      [{ userId: 'alice', cause: 'self' }, 'cause must not come with userId'],
      [{ actorId: 'carol', cause: 'self' }, 'cause must not come with actorId'],
      [
        { createdBy: 'backend', cause: 'continued', continuedBy: AN_ID },
        'cause must not come with createdBy',
      ],
      [{ userId: 'alice', continuedBy: AN_ID }, 'continuedBy must come with the cause continued'],
      [{ id: AN_ID, continuedBy: AN_ID }, 'continuedBy must come with the cause continued'],
      [{ id: AN_ID, cause: 'self', continuedBy: AN_ID }, 'continuedBy must come with the cause continued'],
      [{ id: AN_ID, cause: 'continued' }, 'continuedBy is required with the cause continued'],
      [{ id: AN_ID, cause: 'continued', continuedBy: null }, named('continuedBy')],
      [{ id: AN_ID, cause: 'continued', continuedBy: '' }, named('continuedBy')],
      [{ userId: 'alice', '<b>': 1 }, 'unknown member'],
      [[], 'the body must be a JSON object'],
      ['{', 'the body must be JSON'],
    ]
    for (const [body, error_description] of refused) {
      it(`refuses ${JSON.stringify(body).slice(0, 60)}, and revokes nothing`, async () => {
        const { id } = await issue(on.deployment, { actorId: 'carol' })
        const response = await postRevocation(on.deployment, body)
        expect([response.status, response.body], response.text).to.deep.equal([
          400,
          { error: 'invalid_request', error_description },
        ])
        expect((await show(on.deployment, id)).body.state).to.equal('active')
      })
    }

    it('takes no query, and JSON only', async () => {
      const query = await postRevocation(on.deployment, { userId: 'alice' }, { path: '?dryRun=true' })
      expect([query.status, query.body.error_description]).to.deep.equal([400, 'unknown parameter: dryRun'])
      const response = await manage(on.deployment, 'POST', '/revocations')
      expect([response.status, response.body.error]).to.deep.equal([415, 'invalid_request'])
    })

    it('needs the scope subject-tokens:revoke, before it looks at the body', async () => {
      for (const scope of ['subject-tokens:create', 'subject-tokens:read']) {
        const response = await postRevocation(on.deployment, '{', { scope })
        expect([response.status, response.body.error]).to.deep.equal([403, 'insufficient_scope'])
      }
      expect((await postRevocation(on.deployment, {}, { token: null })).status).to.equal(401)
      const allowed = await postRevocation(
        on.deployment,
        { userId: 'dave' },
        { scope: 'subject-tokens:revoke' },
      )
      expect(allowed.status).to.equal(200)
    })

    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      it(`responds to ${method} with 405, with and without a token`, async () => {
        for (const token of [undefined, null]) {
          const response = await manage(on.deployment, method, '/revocations', { token })
          expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'POST'])
          expect(response.headers.get('cache-control')).to.equal('no-store')
        }
      })
    }
  })
})
