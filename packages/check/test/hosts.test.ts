/** `oidc-impersonation-check` of the hosts of docs/integrate.md and example/hosts: none has a mistake that it looks for. */
import { expect } from 'chai'
import { runCheck } from '../../../fixtures/commands.ts'
import { type Folder, makeFolder, readPage, runnable, typescriptOf } from '../../../fixtures/markdown.ts'

const PROGRAMS = typescriptOf(readPage('docs/integrate.md'))
const PROVIDER = PROGRAMS.find(({ heading }) => heading === 'The provider')?.code ?? ''
const HOSTS = new Map([
  ...PROGRAMS.filter(({ code }) => code.includes('.listen(')).map(
    ({ heading, code }) => [heading, code] as const,
  ),
  ...['fastify', 'hono', 'nestjs'].map((host) => [host, readPage(`example/hosts/${host}.ts`)] as const),
])

describe('oidc-impersonation-check: the hosts of docs/integrate.md', () => {
  let folder: Folder
  before(() => {
    folder = makeFolder(0)
    folder.write('provider.ts', runnable(PROVIDER))
  })
  after(() => folder.remove())

  /** The reader builds the same without listening, and exports what it has built. */
  const moduleOf = (code: string): string => {
    const silent = code.replace(/(await )?(app|\}\))\.listen\(.*\)$/m, (_line, _await, start) =>
      start === 'app' ? '' : start,
    )
    expect(silent).not.to.include('.listen(')
    return runnable(
      `${silent}\nexport { impersonation, provider }\nexport { sequelize } from './my-deployment.ts'\n`,
    )
  }

  it('are all looked at', () => {
    expect([...HOSTS.keys()]).to.deep.equal(['Koa', 'Express', 'node:http', 'fastify', 'hono', 'nestjs'])
  })

  for (const [host, code] of HOSTS) {
    it(`finds no fault in that of ${host}, and the resources that it leaves to the reader`, async () => {
      const file = folder.write(`host-${host.replace(':', '-')}.ts`, moduleOf(code))
      const { stdout } = await runCheck(file, '--json')
      const findings: { level: string; about: string }[] = JSON.parse(stdout)
      const troubles = findings
        .filter(({ level }) => level !== 'ok')
        .map(({ level, about }) => `${level}: ${about}`)
      expect(troubles).to.deep.equal(['warning: resources'])
    })
  }
})
