/** One good case of protocol.md §10, from the door to userinfo. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { now } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { impersonationOf } from '../../src/index.ts'
import { type Scene, startScene } from './arriving.ts'

describe('a sign-in as the user', () => {
  let scene: Scene

  before(async () => {
    scene = await startScene()
  })
  after(() => scene.close())

  it('opens the application as the user, by one subject token', async () => {
    const browser = await scene.signedIn()
    const { id, token } = await scene.issue()
    const armed = await scene.arm(browser, token)
    expect(armed.status, armed.text).to.equal(200)
    expect(armed.text).to.include('https://shop.example.com/sign-in')
    const answer = await scene.authorize(browser)
    expect(answer.status, answer.text).to.equal(303)
    expect(answer.location?.origin).to.equal('https://shop.example.com')
    expect(answer.location?.searchParams.get('error_description')).to.equal(null)
    const tokens = await scene.redeem(answer)
    expect(tokens.status, tokens.text).to.equal(200)
    const idToken = decodeJwt(tokens.body.id_token)
    expect(idToken).to.include({ sub: 'alice', sid: `imp_${id}`, nonce: 'a-nonce' })
    expect(idToken.act).to.deep.equal({ sub: 'bob' })
    const userinfo = await scene.userinfo(tokens.body.access_token)
    expect(userinfo.status, userinfo.text).to.equal(200)
    expect(userinfo.body).to.deep.equal({ sub: 'alice', act: { sub: 'bob' }, email: 'alice@example.com' })
    const record = await scene.record(id)
    expect(record?.use).to.deep.include({ clientId: 'shop', actor: { sub: 'bob' }, scope: 'openid profile' })
    expect(scene.errors).to.deep.equal([])
    expect(scene.events.map(({ name }) => name)).to.deep.equal(['subject_token.exchanged'])
    expect(now()).to.be.a('number')
    expect(API).to.be.a('string')
    expect(impersonationOf).to.be.a('function')
  })
})
