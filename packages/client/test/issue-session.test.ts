/** The client against a deployment with sessions: a token that opens an application. */
import { expect } from 'chai'
import { type Scene, startScene } from '../../../test/spec/arriving.ts'
import { createImpersonationClient, ImpersonationError } from '../src/index.ts'

describe('client: a session', () => {
  let scene: Scene
  before(async () => {
    scene = await startScene()
  })
  after(() => scene.close())

  const connect = () =>
    createImpersonationClient({
      issuer: scene.issuer,
      clientId: 'backend',
      clientSecret: 'backend-secret',
    })
  const SESSION = { userId: 'alice', actorId: 'bob', clientId: 'shop' }

  it('is issued, and shown in its record', async () => {
    const backend = connect()
    const context = { ticketId: 'T-1' }
    const more = { context, scope: 'openid', expiresIn: 60 }
    const { subjectToken, expiresIn, id } = await backend.issueSession({ ...SESSION, ...more })
    expect(subjectToken).to.match(/^ses_/)
    expect(expiresIn).to.equal(60)
    const record = await backend.get(id)
    expect(record).to.deep.include({
      id,
      use: 'session',
      ...SESSION,
      context,
      scope: 'openid',
      state: 'active',
    })
  })

  it('is refused for a client that is not open to sessions, and where the actor is the user', async () => {
    const backend = connect()
    for (const wrong of [{ clientId: 'spa' }, { actorId: 'alice' }]) {
      const error = await backend.issueSession({ ...SESSION, ...wrong }).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(ImpersonationError)
      expect(error).to.include({ status: 400, code: 'invalid_request' })
    }
  })
})
