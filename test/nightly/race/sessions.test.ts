/** One subject token, fifty requests of the same browser, four processes: one gets in (protocol.md §10.4). */
import { expect } from 'chai'
import { ISSUER, startProcess } from '../../../fixtures/cluster.ts'
import { openDatabase } from '../../../fixtures/databases.ts'
import { signingKey } from '../../../fixtures/keys.ts'
import { onEachKind } from '../../../fixtures/on-database.ts'
import { createAdapter, createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { type Scene, shop, startScene } from '../../spec/arriving.ts'

const PROCESSES = 4
const REQUESTS = 50
const ROUNDS = 2
const DOOR = 'https://id.example.com/impersonate'

describe('arrivals of one token', function () {
  this.timeout(120_000)

  onEachKind((kind) => {
    it(`at ${PROCESSES} processes: one of ${REQUESTS} gets in, the others are denied`, async () => {
      const database = await openDatabase(kind)
      const jwks = { keys: [signingKey('ES256', 'shared')] }
      const clients = [shop()]
      const processes = await Promise.all(
        Array.from({ length: PROCESSES }, () =>
          startProcess({
            databaseUrl: database.url,
            issuer: ISSUER,
            jwks,
            clients,
            options: { sessions: { door: DOOR } },
          }),
        ),
      )
      const scene = await startScene({
        database,
        issuer: ISSUER,
        clients,
        sessions: { door: DOOR },
        options: { store: createSubjectTokenStore(database.sequelize) },
        configuration: { jwks, adapter: createAdapter(database.sequelize) },
      })
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          await race(
            scene,
            processes.map(({ address }) => address),
          )
        }
      } finally {
        await scene.close()
        for (const { child } of processes) child.kill('SIGKILL')
        await database.close()
      }
    })
  })
})

async function race(scene: Scene, addresses: readonly string[]): Promise<void> {
  const browser = await scene.signedIn()
  const { token, id } = await scene.issue()
  await scene.arm(browser, token)
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, (_, index) => {
      const issuer = `${addresses[index % addresses.length]}/oidc`
      return scene.authorize(browser.clone(), {}, issuer)
    }),
  )
  const given = answers.map(
    ({ location, text }) => location?.searchParams.get('error') ?? (location ? 'in' : text),
  )
  expect(given.filter((one) => one === 'in')).to.have.length(1)
  expect(given.filter((one) => one === 'access_denied')).to.have.length(REQUESTS - 1)
  const [entered] = answers.filter(({ location }) => location?.searchParams.has('code'))
  const { status, body, text } = await scene.redeem(entered as never)
  expect(status, text).to.equal(200)
  expect((await scene.userinfo(body.access_token)).body).to.deep.include({
    sub: 'alice',
    act: { sub: 'bob' },
  })
  await scene.impersonation.records.stop({ id })
  expect((await scene.userinfo(body.access_token)).status).to.equal(401)
}
