/** The programs of docs/sessions.md: the form of the desk leads into the application, which reads who acts. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { readPage, usePrograms } from '../../../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../../../fixtures/page.ts'
import { type Scene, shop, startScene } from '../../spec/arriving.ts'

const PAGE = readPage('docs/sessions.md')

describe('docs: sessions', () => {
  let scene: Scene
  before(async () => {
    scene = await startScene({ clients: [shop({ impersonation_read_only: true })] })
  })
  after(() => scene.close())
  const programs = usePrograms('docs/sessions.md', () => {
    const secrets = { BACKEND_SECRET: 'backend-secret', SHOP_SECRET: 'shop-secret' }
    return { baseUrl: scene.baseUrl, variables: { ISSUER: scene.issuer, ...secrets } }
  })

  it('has a form that opens the application, which knows both people and when to end', async () => {
    const { formOf } = await programs.load('my-desk.ts')
    const { sessionOf } = await programs.load('my-application.ts')
    const form: string = await formOf('bob', 'alice', 'T-1')
    const [, action] = /<form method="post" action="([^"]+)"/.exec(form) ?? []
    expect(action).to.equal(scene.door)
    const [, token = ''] = /name="subject_token" value="([^"]+)"/.exec(form) ?? []
    const browser = await scene.signedIn('bob')
    await scene.arm(browser, token)
    const { body } = await scene.redeem(await scene.authorize(browser))
    const claims = decodeJwt(body.id_token)
    const session = sessionOf(claims)
    expect(claims).to.include({ read_only: true })
    expect(session).to.deep.equal({ customer: 'alice', actor: 'bob', sid: claims.sid, endsAt: claims.exp })
    expect(sessionOf({ ...claims, act: undefined }, 1000)).to.deep.equal({
      ...{ customer: 'alice', sid: claims.sid, endsAt: 4600 },
    })
    expect(() => sessionOf({ ...claims, act: 'bob' })).to.throw('act names no one')
  })

  it('has a provider that opens the application to sessions, and serves the door', async () => {
    const { provider, routes } = await programs.load('my-sessions.ts')
    expect((await provider.Client.find('shop')).metadata()).to.include({ impersonation_sessions: true })
    const doors = routes.router.stack.map(({ path }: { path: unknown }) => path)
    expect(doors).to.include('/impersonate')
  })

  it('names every word of the record', () => {
    const words = rowsOf(sectionOf(PAGE, 'What each person sees')).flatMap(([first = '']) => codeOf(first))
    expect(words).to.have.members(['pending', 'confirmed', 'gaveUp', 'unsupported'])
  })

  it('says which clients are refused as configure does', async () => {
    const without = { backchannel_logout_session_required: undefined }
    for (const [changed, text] of [
      [without, 'backchannel_logout_session_required'],
      [{ ...without, backchannel_logout_uri: undefined }, 'impersonation_sessions_unended'],
      [{ impersonation_sessions: true }, 'initiate_login_uri'],
      [{ application_type: 'native' as const }, 'native'],
    ] as const) {
      const refused = await scene.provider.Client.validate(shop(changed)).catch((error: Error) =>
        Object(error),
      )
      expect(`${refused.error_description}`).to.include(text)
    }
  })
})
