/** Whom the backend of the example takes for an engineer, by what introspection says of the access token. */
import { expect } from 'chai'
import Koa from 'koa'
import { authenticate } from '../../../example/backend/authenticate.ts'
import { sendRefusals } from '../../../example/backend/refusal.ts'
import { supportDesk } from '../../../example/clients.ts'
import { send } from '../../../fixtures/http.ts'
import { whileListening } from '../../../fixtures/listening.ts'

const OWN = { active: true, client_id: supportDesk.client_id, sub: 'sam' }

async function statusFor(claims: object): Promise<number> {
  const app = new Koa()
  app.use(sendRefusals(() => {}))
  app.use(authenticate(async () => ({ ...OWN, ...claims })))
  app.use((ctx) => {
    ctx.status = 204
  })
  const { status } = await whileListening(app.callback(), (baseUrl) =>
    send(baseUrl, { headers: { authorization: 'Bearer a' } }),
  )
  return status
}

describe('an engineer, for the backend of the example', () => {
  it('is the user of a token of the desk', async () => expect(await statusFor({})).to.equal(204))

  const others = {
    'a token that is over, or is none': { active: false },
    'the token of another application': { client_id: 'other' },
    'a token in which someone acts': { act: { sub: 'robin' } },
    'an impersonation without actor': { status: { status_list: { idx: 1, uri: 'https://x.example/0' } } },
    'a token that is bound to a key': { cnf: { jkt: 'a' } },
    'a token without user': { sub: undefined },
  }
  for (const [what, claims] of Object.entries(others))
    it(`is not: ${what}`, async () => expect(await statusFor(claims)).to.equal(401))
})
