/** How a subject token is issued that opens an application (docs/protocol.md §2.1, M186). */
import { expect } from 'chai'
import { API } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { list, show } from '../../fixtures/management.ts'
import { idFrom, postSubjectToken } from '../../fixtures/requests.ts'
import { cell, type Scene, shop } from './arriving.ts'
import { expectDescribed } from './described.ts'
import { each, type Named, rowsOf, type Steps } from './rule.ts'

const SESSION = {
  use: 'session',
  userId: 'alice',
  actorId: 'bob',
  clientId: 'shop',
  context: { reason: 'a call' },
}
const NOT_OPEN = 'clientId must be a client that is open to sessions'

interface Asking {
  readonly scene: Scene
  /** What the policy was asked. */
  readonly asked: readonly object[]
  posts(changes?: object): Promise<HttpResponse>
}

const closed = shop({ client_id: 'closed', impersonation_sessions: undefined })

const asking = (use: (asking: Asking) => Promise<void>): Steps => {
  const asked: object[] = []
  return cell(
    async (scene) => {
      const posts = async (changes: object = {}) => {
        const body = { ...SESSION, ...changes }
        const response = await postSubjectToken(scene, body)
        expectDescribed({ method: 'POST', path: '', body }, response)
        return response
      }
      await use({ scene, asked, posts })
    },
    {
      clients: [shop(), closed],
      options: {
        requiredContext: ['reason'],
        isAllowed({ stage, use, client, actor }) {
          asked.push({ stage, use, client, actor })
          return true
        },
      },
      configuration: {
        findAccount(_ctx, name) {
          const accountId = name.replace(/^alias:/, '')
          return { accountId, claims: () => ({ sub: accountId }) }
        },
      },
    },
  )
}

const REFUSED: Named<readonly [changes: object, text: string]> = {
  'no client': [{ clientId: undefined }, 'clientId is required'],
  'no actor': [{ actorId: undefined }, 'actorId is required'],
  'the user as actor': [{ actorId: 'alice' }, 'actorId must not be the user'],
  'the user by another name': [{ userId: 'alias:bob' }, 'actorId must not be the user'],
  'a resource': [{ resource: API }, 'resource must not come with use session'],
  'a list of resources': [{ resource: [API] }, 'resource must not come with use session'],
  'a client that is not open': [{ clientId: 'closed' }, NOT_OPEN],
  'a client that is not registered': [{ clientId: 'unknown' }, NOT_OPEN],
  'a client with a metadata document': [{ clientId: 'https://unseen.example.com/client.json' }, NOT_OPEN],
  'another use': [{ use: 'sessions' }, 'use must be exchange or session'],
  'a list of uses': [{ use: ['session'] }, 'use must be exchange or session'],
  'without its context': [{ context: {} }, 'context.reason is required, and must not be blank'],
}

export const sessionRules = [
  rowsOf(['taken', 'for an exchange', 'a client that cannot be looked up', ...Object.keys(REFUSED)])('M186', {
    taken: asking(async ({ scene, asked, posts }) => {
      const response = await posts({ scope: 'openid profile', expiresIn: 60 })
      expect([response.status, response.body.expiresIn], response.text).to.deep.equal([201, 60])
      expect(response.body.subjectToken).to.match(/^ses_[\w-]{65}$/)
      const id = idFrom(response)
      const { body } = await show(scene, id)
      expect(body).to.deep.include({ ...SESSION, scope: 'openid profile', state: 'active' })
      expect(body).not.to.have.any.keys('session', 'accessToken')
      const { context: _, ...told } = SESSION
      expect(scene.eventsOf('subject_token.issued')[0]).to.include({ id, ...told })
      const question = { use: 'session', client: { id: 'shop' }, actor: { sub: 'bob', verified: false } }
      expect(asked).to.deep.equal([{ stage: 'issuance', ...question }])
    }),
    'for an exchange': asking(async ({ scene, asked, posts }) => {
      for (const use of [undefined, 'exchange']) {
        const response = await posts({ use, clientId: undefined })
        expect(response.body.subjectToken, response.text).to.match(/^sub_/)
        expect((await show(scene, idFrom(response))).body).not.to.have.property('use')
      }
      expect(asked.map((question) => Reflect.get(question, 'use'))).to.deep.equal(['exchange', 'exchange'])
      for (const told of scene.eventsOf('subject_token.issued'))
        expect(told).to.be.an('object').and.not.to.have.property('use')
    }),
    'a client that cannot be looked up': asking(async ({ scene, posts }) => {
      expect((await posts()).status).to.equal(201)
      const down = { find: () => Promise.reject(new Error('private: the disk is gone')) }
      Object.assign(Reflect.get(scene.provider.Client, 'adapter'), down)
      const { status, body, text } = await posts({ clientId: 'of the database' })
      expect([status, body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      expect(text).not.to.include('private')
    }),
    ...each(Object.keys(REFUSED), (form) =>
      asking(async ({ scene, asked, posts }) => {
        const [changes, text] = REFUSED[form] ?? expect.fail()
        const { status, body } = await posts(changes)
        expect([status, body]).to.deep.equal([400, { error: 'invalid_request', error_description: text }])
        expect([(await list(scene)).body.items, asked, scene.events]).to.deep.equal([[], [], []])
      }),
    ),
  }),
]
