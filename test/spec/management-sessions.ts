/** How a subject token is issued that opens an application (docs/protocol.md §2.1, M186). */
import { expect } from 'chai'
import { API } from '../../fixtures/deployment.ts'
import { list, show } from '../../fixtures/management.ts'
import { idFrom, postSubjectToken } from '../../fixtures/requests.ts'
import { type Scene, shop, startScene } from './arriving.ts'
import { answer, each, record, rowsOf, type Steps } from './rule.ts'

const SESSION = { use: 'session', userId: 'alice', actorId: 'bob', clientId: 'shop' }
const NOT_OPEN = 'clientId must be a client that is open to sessions'

/** In a provider of its own. */
const cell = (use: (scene: Scene) => Promise<void>): Steps => [
  answer(
    record(async () => {
      const closed = shop({ client_id: 'closed', impersonation_sessions: undefined })
      const scene = await startScene({ clients: [shop(), closed] })
      try {
        await use(scene)
      } finally {
        await scene.close()
      }
    }),
  ),
]

const REFUSED: Readonly<Record<string, readonly [changes: object, text: string]>> = {
  'no client': [{ clientId: undefined }, 'clientId is required'],
  'no actor': [{ actorId: undefined }, 'actorId is required'],
  'the user as actor': [{ actorId: 'alice' }, 'actorId must not be the user'],
  'a resource': [{ resource: API }, 'resource must not come with use session'],
  'a client that is not open': [{ clientId: 'closed' }, NOT_OPEN],
  'a client that is not registered': [{ clientId: 'unknown' }, NOT_OPEN],
  'a client with a metadata document': [{ clientId: 'https://unseen.example.com/client.json' }, NOT_OPEN],
}

export const sessionRules = [
  rowsOf(['taken', ...Object.keys(REFUSED)])('M186', {
    taken: cell(async (scene) => {
      const response = await postSubjectToken(scene, { ...SESSION, scope: 'openid' })
      expect(response.status, response.text).to.equal(201)
      expect(response.body.subjectToken).to.match(/^ses_/)
      const { body } = await show(scene, idFrom(response))
      expect(body).to.include({ ...SESSION, scope: 'openid', state: 'active' })
    }),
    ...each(Object.keys(REFUSED), (form) =>
      cell(async (scene) => {
        const [changes, text] = REFUSED[form] ?? expect.fail()
        const { status, body } = await postSubjectToken(scene, { ...SESSION, ...changes })
        expect([status, body]).to.deep.equal([400, { error: 'invalid_request', error_description: text }])
        expect((await list(scene)).body.items).to.deep.equal([])
      }),
    ),
  }),
]
