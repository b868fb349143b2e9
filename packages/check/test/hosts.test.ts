/** `oidc-impersonation-check` of the programs of docs/integrate.md: none has a mistake that it looks for. */
import { expect } from 'chai'
import { runCheck } from '../../../fixtures/commands.ts'
import { type Folder, makeFolder, readPage, runnable, typescriptOf } from '../../../fixtures/markdown.ts'

const PROGRAMS = typescriptOf(readPage('docs/integrate.md')).filter(({ code }) => code.includes('.listen('))

describe('oidc-impersonation-check: the hosts of docs/integrate.md', () => {
  let folder: Folder
  before(() => {
    folder = makeFolder(0)
  })
  after(() => folder.remove())

  /** The reader builds the same without listening, and exports what it has built. */
  const moduleOf = (code: string): string => {
    const built = code.includes('IMPERSONATION')
      ? 'export const impersonation = app.get(IMPERSONATION), provider = app.get(Provider)\nexport { sequelize }'
      : 'export { impersonation, provider, sequelize }'
    const silent = code.replace(/(await )?(app|\}\))\.listen\(.*\)$/m, (_line, _await, start) =>
      start === 'app' ? '' : start,
    )
    // Node strips types, but not decorators.
    return runnable(`${silent}\n${built}\n`)
      .replace('@Module(', 'const decorate = Module(')
      .replace('class AppModule {}', 'class AppModule {}\ndecorate(AppModule)')
  }

  it('are all looked at', () => {
    const hosts = ['Koa', 'Express', 'Fastify', 'node:http', 'Hono', 'NestJS']
    expect(PROGRAMS.map(({ heading }) => heading)).to.deep.equal(hosts)
  })

  for (const [index, { heading, code }] of PROGRAMS.entries()) {
    it(`finds no fault in that of ${heading}, and the resources that it leaves to the reader`, async () => {
      const file = folder.write(`host-${index}.ts`, moduleOf(code))
      const { stdout } = await runCheck(file, '--json')
      const findings: { level: string; about: string }[] = JSON.parse(stdout)
      const troubles = findings
        .filter(({ level }) => level !== 'ok')
        .map(({ level, about }) => `${level}: ${about}`)
      expect(troubles).to.deep.equal(['warning: resources'])
    })
  }
})
