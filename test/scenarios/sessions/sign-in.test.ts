/** One good case of protocol.md §10, from the management API to the end. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { issue } from '../../../fixtures/requests.ts'
import { type Scene, startScene } from '../../spec/arriving.ts'

describe('a sign-in as the user', () => {
  let scene: Scene

  before(async () => {
    scene = await startScene()
  })
  after(() => scene.close())

  it('opens the application as the user, by one subject token, until it is stopped', async () => {
    const { subjectToken, id } = await issue(scene, {
      ...{ userId: 'alice', actorId: 'bob', clientId: 'shop', use: 'session' },
      context: { ticketId: 'T-7' },
    })
    expect(subjectToken).to.match(/^ses_/)
    const browser = await scene.signedIn()
    const armed = await scene.arm(browser, subjectToken)
    expect(armed.status, armed.text).to.equal(200)
    expect(armed.text).to.include('https://shop.example.com/sign-in')
    const answer = await scene.authorize(browser)
    expect(answer.status, answer.text).to.equal(303)
    expect(answer.location?.origin).to.equal('https://shop.example.com')
    const tokens = await scene.redeem(answer)
    expect(tokens.status, tokens.text).to.equal(200)
    const idToken = decodeJwt(tokens.body.id_token)
    expect(idToken).to.include({ sub: 'alice', sid: `imp_${id}`, nonce: 'a-nonce' })
    expect(idToken.act).to.deep.equal({ sub: 'bob' })
    const userinfo = await scene.userinfo(tokens.body.access_token)
    expect(userinfo.status, userinfo.text).to.equal(200)
    expect(userinfo.body).to.deep.equal({ sub: 'alice', act: { sub: 'bob' }, email: 'alice@example.com' })
    const live = await scene.impersonation.records.list({ live: true })
    expect(live.items.map((item) => item.id)).to.deep.equal([id])
    expect(live.items[0]).to.deep.include({ use: 'session', usedBy: 'shop', scope: 'openid profile' })
    expect(live.items[0]?.session).to.include({ logout: 'pending' })
    expect(await scene.impersonation.records.stop({ id })).to.deep.equal({ revoked: 1 })
    expect((await scene.userinfo(tokens.body.access_token)).status).to.equal(401)
    expect(scene.errors).to.deep.equal([])
    expect(scene.events.map(({ name }) => name)).to.include.members([
      'subject_token.issued',
      'subject_token.exchanged',
      'subject_token.revoked',
    ])
  })
})
