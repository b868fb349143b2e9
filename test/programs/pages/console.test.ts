/** What docs/protocol.md §9 and docs/console.md say of the console, compared with its responses and its options. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../../fixtures/console.ts'
import { readPage } from '../../../fixtures/markdown.ts'
import { codeOf, namesOf, rowsOf, rulesOf, sectionOf } from '../../../fixtures/page.ts'
import { createConsole } from '../../../packages/console/src/index.ts'
import { ROUTES } from '../../../packages/console/src/routes.ts'
import { routeOf } from '../../spec/visiting.ts'

const SECTION = sectionOf(readPage('docs/protocol.md'), '9. Console')

describe('docs: the protocol of the console', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  after(() => console.close())

  /** Each request is sent with each right by test/spec/console.ts. */
  it('says the right that each route needs', () => {
    for (const rule of rulesOf(SECTION)) {
      const [route = '', right] = codeOf(rule.join())
      expect(routeOf(route.replace('{prefix}/', '/')).right, route).to.equal(right)
    }
  })

  it('names every route', () => {
    const routes = Object.entries(ROUTES).flatMap(([path, { GET, POST }]) =>
      Object.entries({ GET, POST }).flatMap(([method, handle]) =>
        handle ? `${method} {prefix}${path}` : [],
      ),
    )
    expect(namesOf(rulesOf(SECTION))).to.have.members([...routes, 'GET {prefix}/{id}'])
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
