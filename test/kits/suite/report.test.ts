/** What the command line of the suite prints and writes, and the status it ends with. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { naiveConfiguration } from '../../../packages/suite/naive/configurations.ts'
import { CATALOGUE } from '../../../packages/suite/src/catalogue.ts'
import { commandLine } from '../../../packages/suite/src/command-line.ts'
import type { Configuration } from '../../../packages/suite/src/driver.ts'
import { junit } from '../../../packages/suite/src/report/junit.ts'
import { run } from '../../../packages/suite/src/run.ts'

const NAIVE = path.resolve(import.meta.dirname, '../../../packages/suite/naive/configurations.ts')

describe('suite: reports', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'suite-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const write = (name: string, text: string) => {
    const file = path.join(folder, name)
    writeFileSync(file, text)
    return file
  }
  /** A module that runs the naive server with these mistakes. */
  const moduleOf = (...faults: string[]) =>
    write(
      `${faults.join('-') || 'none'}.ts`,
      `import { naiveConfiguration } from '${NAIVE}'
       export default naiveConfiguration('impersonation', ${JSON.stringify(faults)})`,
    )
  async function command(...args: string[]): Promise<{ status: number; text: string }> {
    const lines: string[] = []
    const status = await commandLine(args, (text) => lines.push(text))
    return { status, text: lines.join('\n') }
  }

  it('say that a server without mistakes passes, and end with 0', async () => {
    const { status, text } = await command(moduleOf(), '--only', 'request.')
    expect(status).to.equal(0)
    expect(text)
      .to.match(/✓ request\.accepted/)
      .and.to.match(/\d+ passed, in/)
  })

  it('show a failure with its level, source, requirement and what happened, and end with 1', async () => {
    const { status, text } = await command(moduleOf('no-issued-token-type'), '--only', 'response.')
    expect(status).to.equal(1)
    expect(text).to.include('✗ response.issued-token-type  MUST, RFC 8693 §2.2.1')
    expect(text).to.include('issued_token_type is required, and names the type of what was issued')
    expect(text).to.include('issued_token_type should be').and.to.include('failed by level: 1 MUST')
  })

  it('explain every named deviation once', async () => {
    const { status, text } = await command(moduleOf('invalid-grant'), '--only', 'subject.')
    expect(status).to.equal(0)
    expect(text.match(/RFC 8693 §2\.2\.2 asks for invalid_request\./g)).to.have.length(1)
  })

  it('say why checks were not run, by reason', async () => {
    const { text } = await command(moduleOf(), '--only', 'subject.')
    expect(text)
      .to.include('not run:')
      .and.to.match(/the subject token is opaque: subject\.payload-changed, /)
  })

  it('stay short if nothing works at all', async () => {
    const { status, text } = await command(moduleOf('everything-refused'))
    expect(status).to.equal(1)
    expect(text).to.match(/proves nothing while request\.accepted fails: \d+ checks/)
    expect(text.split('\n').length).to.be.lessThan(20)
  })

  it('accept known deviations from a file, and end with 1 as soon as one passes', async () => {
    const server = moduleOf('plain-jwt')
    const known = (entries: object) => write('known.json', JSON.stringify(entries))
    const listed = await command(server, '--only', 'jwt.', '--known', known({ 'jwt.type': 'until 4.0' }))
    expect(listed.status).to.equal(0)
    expect(listed.text).to.include('~ jwt.type').and.to.include('known: until 4.0')

    const entries = { 'jwt.type': 'until 4.0', 'jwt.issuer': 'mended long ago' }
    const stale = await command(server, '--only', 'jwt.', '--known', known(entries))
    expect(stale.status).to.equal(1)
    expect(stale.text).to.include('listed as known to fail ("mended long ago"), but it passes')
  })

  it('refuse a known deviation that is not a check, or has no reason', async () => {
    for (const [entries, words] of [
      [{ 'jwt.typ': 'a slip' }, 'the known deviation "jwt.typ" is not the id of a check'],
      [{ 'jwt.type': ' ' }, 'each with the reason'],
    ] as const) {
      const known = write('known.json', JSON.stringify(entries))
      const { status, text } = await command(moduleOf(), '--known', known)
      expect(status).to.equal(2)
      expect(text).to.include(words)
    }
  })

  it('are written as JSON and as JUnit XML', async () => {
    const [asJson, asXml] = [path.join(folder, 'out.json'), path.join(folder, 'out.xml')]
    await command(moduleOf('plain-jwt'), '--only', 'jwt.', '--json', asJson, '--junit', asXml)
    const { green, runs } = JSON.parse(readFileSync(asJson, 'utf8'))
    expect(green).to.equal(false)
    const failed = runs[0].results.filter((result: { outcome: string }) => result.outcome === 'failed')
    expect(failed).to.have.length(1)
    expect(failed[0]).to.include({ id: 'jwt.type', level: 'MUST', detail: 'typ is "JWT"' })
    const xml = readFileSync(asXml, 'utf8')
    expect(xml).to.include('failures="1" errors="0"').and.to.include('message="typ is &quot;JWT&quot;"')
  })

  it('keep JUnit XML well formed, whatever a server says', async () => {
    const [check] = CATALOGUE
    if (!check) throw new Error('no checks')
    const detail = `<a href="x">&'\u0000\u001b \ud800`
    const result = { check, outcome: 'failed', detail, deviations: [], seconds: 0 } as const
    const xml = junit([{ name: '<&>', profiles: [], results: [result] }])
    expect(xml).to.include('message="&lt;a href=&quot;x&quot;&gt;&amp;&apos;\ufffd\ufffd \ufffd"')
    expect(xml).to.include('name="&lt;&amp;&gt;"')
  })

  it('leave out load on request', async () => {
    const { text } = await command(moduleOf(), '--only', 'single-use.', '--no-load')
    expect(text).to.include('single-use.second-use').and.not.to.include('single-use.race')
  })

  it('end with 2 where there is nothing to run', async () => {
    for (const args of [
      [],
      ['missing.ts'],
      [write('empty.ts', 'export default {}')],
      [write('unknown.ts', "export default { name: 'x', profiles: ['magic'], open() {} }")],
      ['--unknown-option'],
    ])
      expect((await command(...args)).status, args.join(' ')).to.equal(2)
  })

  it('tell a driver that breaks from a server that fails', async () => {
    const broken: Configuration = {
      ...naiveConfiguration('impersonation'),
      open: async () => ({
        ...(await naiveConfiguration('impersonation', ['no-pragma']).open()),
        subjectToken: () => Promise.reject(new Error('the login page has changed')),
      }),
    }
    const { results } = await run(broken, { only: ['request.accepted'] })
    expect(results[0]).to.include({ outcome: 'broken', detail: 'the login page has changed' })
  })

  it('never contain a token', async () => {
    const tokens = new Set<string>()
    const configuration = naiveConfiguration('access-tokens', ['signature-ignored', 'token-in-error'])
    const recording: Configuration = {
      ...configuration,
      async open() {
        const driver = await configuration.open()
        return {
          ...driver,
          async subjectToken(request) {
            const token = await driver.subjectToken(request)
            if (typeof token === 'string') tokens.add(token)
            return token
          },
        }
      },
    }
    const report = await run(recording)
    const text = JSON.stringify(report.results.map(({ detail }) => detail)) + junit([report])
    expect(tokens.size).to.be.greaterThan(50)
    for (const token of tokens) expect(text).not.to.include(token)
    expect(text).not.to.match(/eyJ[\w-]{20}/)
  })
})
