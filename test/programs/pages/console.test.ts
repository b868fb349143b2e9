/** What docs/protocol.md §9 and docs/console.md say of the console, compared with its responses and its options. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../../fixtures/console.ts'
import { readPage } from '../../../fixtures/markdown.ts'
import { codeOf, namesOf, rowsOf, sectionOf } from '../../../fixtures/page.ts'
import { type ConsoleRight, createConsole } from '../../../packages/console/src/index.ts'
import { ROUTES } from '../../../packages/console/src/routes.ts'

const SECTION = sectionOf(readPage('docs/protocol.md'), '9. Console')
const RIGHTS: readonly ConsoleRight[] = ['see', 'stop', 'stopAll']

describe('docs: the protocol of the console', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  after(() => console.close())

  for (const [route = '', right] of rowsOf(SECTION).map((cells) => [
    codeOf(cells[0] ?? '')[0],
    codeOf(cells[1] ?? '')[0],
  ])) {
    it(`${route} needs the right ${right}, and no other`, async () => {
      const [method, path = ''] = route.replace('{prefix}', '').split(' ')
      const id = await console.keep({ use: {} })
      const queries: Record<string, string> = { '/stop-all': '?userId=alice', '/search': '?q=no-one' }
      const query = (method === 'GET' && queries[path]) || ''
      const address = path.replace('{id}', id) + query
      for (const given of RIGHTS) {
        console.change({ authorize: () => ({ id: 'dora', can: [given] }) })
        const fields = {
          '/stop': { id, reason: 'x' },
          '/acknowledge': { id, replayedAt: '', note: 'x' },
        }[path] ?? { userId: 'alice', confirm: 'alice', reason: 'x' }
        const response = await (method === 'GET' ? console.get(address) : console.post(address, fields))
        const success = method === 'GET' ? 200 : 303
        expect(response.status, given).to.equal(given === right ? success : 403)
      }
    })
  }

  it('names every route', () => {
    const routes = Object.entries(ROUTES).flatMap(([path, { GET, POST }]) =>
      Object.entries({ GET, POST }).flatMap(([method, handle]) =>
        handle ? `${method} {prefix}${path}` : [],
      ),
    )
    expect(namesOf(rowsOf(SECTION))).to.have.members([...routes, 'GET {prefix}/{id}'])
  })

  it('says the policy of every response', async () => {
    const policy = (await console.get()).headers.get('content-security-policy') ?? ''
    const told = codeOf(SECTION).filter((code) => /^(default|connect|form|frame|base|require)-/.test(code))
    expect(told).to.have.length(6)
    for (const directive of told) expect(policy.split('; ')).to.include(directive)
    expect(policy).to.match(/; script-src 'sha256-[^ ]+'; style-src 'sha256-[^ ]+'; /)
    expect(policy).to.match(/; trusted-types [\w-]+$/)
  })

  it('lists the options, and the default of the prefix', () => {
    const page = sectionOf(readPage('docs/console.md'), 'Options')
    const options = ['prefix', 'authorize', 'nameOf', 'find', 'ticketUrl', 'title', 'home', 'signOut']
    expect(namesOf(rowsOf(page)).map((name) => name.replace(/\(.*/, ''))).to.deep.equal(options)
    for (const option of options) {
      const value = { authorize: () => undefined, [option]: 7 } as never
      expect(() => createConsole(console.impersonation, value)).to.throw(TypeError, `option ${option} `)
    }
    expect(codeOf(page)).to.include('/impersonations')
  })
})
