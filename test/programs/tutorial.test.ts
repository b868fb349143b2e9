/** docs/tutorial.md, done step by step in an empty folder, with the package as it is published. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type Answer, Browser } from '../../fixtures/browser.ts'
import { blocksOf, readPage } from '../../fixtures/markdown.ts'
import { useInstalled } from '../../fixtures/packed-package.ts'
import { freePort } from '../../fixtures/server-process.ts'

const BLOCKS = blocksOf(readPage('docs/tutorial.md'))
const codeOf = (language: string, start: string): string =>
  BLOCKS.find(({ language: found, code }) => found === language && code.startsWith(start))?.code ?? ''

const INSTALL = codeOf('sh', 'npm install')
  .trim()
  .split(/[\s\\]+/)
  .slice(2)
const PROGRAMS = ['provider.mjs', 'shop.mjs', 'api.mjs', 'tool.mjs'] as const
const SHARED = 'web.mjs'
const ADMINISTRATOR = codeOf('sh', 'json()')

/** Goes wherever a redirect leads, and shows what it says there. */
class Visitor extends Browser {
  last: Answer | undefined

  visit = (url: string): Promise<string> => this.#arrive(this.get(url))

  submit = (url: string, fields: Record<string, string>, origin = new URL(url).origin): Promise<string> =>
    this.#arrive(this.post(url, fields, { origin }))

  /** Where the first form of the page is sent. */
  form = (): string => this.formOf(this.last ?? expect.fail()).action

  async #arrive(sent: Promise<Answer>): Promise<string> {
    let last = await sent
    while (last.location) last = await this.get(last.location)
    this.last = last
    return last.text
  }
}

describe('docs: tutorial', () => {
  const folder = useInstalled(INSTALL)
  let ports: Record<string, string>
  const running: ChildProcess[] = []
  let logs = ''

  const here = (text: string): string =>
    text.replaceAll(/127\.0\.0\.1:\d+|\b[3457]000(?=, '127)/g, (place) =>
      place.replace(/\d+$/, (port) => ports[port] ?? port),
    )

  before(async () => {
    ports = {
      3000: String(await freePort()),
      4000: String(await freePort()),
      5000: String(await freePort()),
      7000: String(await freePort()),
    }
    for (const name of [SHARED, ...PROGRAMS]) folder.write(name, here(codeOf('js', `// ${name}\n`)))
    for (const [index, name] of PROGRAMS.entries()) {
      const program = spawn(process.execPath, [name], {
        cwd: folder.path,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      program.stdout.setEncoding('utf8').on('data', (text: string) => {
        logs += text
      })
      running.push(program)
      for (let attempts = 0; listening().length <= index && attempts < 300; attempts += 1) await sleep(100)
    }
    expect(listening(), logs).to.have.length(4)
  })
  after(async () => {
    for (const program of running) {
      program.kill()
      if (program.exitCode === null && program.signalCode === null) await once(program, 'exit')
    }
  })

  const listening = () => logs.match(/ listens at http/g) ?? []
  const tool = (): string => here('http://127.0.0.1:5000')
  const administrator = async () => (await promisify(execFile)('bash', ['-ec', here(ADMINISTRATOR)])).stdout

  it('ends with an engineer who sees what a customer sees, until an administrator or the engineer stops it', async () => {
    const sam = await signedIn('sam')
    const page = await sam.submit(`${tool()}/view`, { customer: 'alice', reason: 'order <is> missing' })
    expect(page)
      .to.include('sam is viewing alice')
      .and.include('order &#60;is&#62; missing')
      .and.include('A teapot')
    expect(logs)
      .to.match(/sam has become alice\n/)
      .and.match(/orders of alice, read by sam, token \S+\n/)

    const [live, stopped] = (await administrator()).replace('}{"revoked', '}\n{"revoked').split('\n')
    expect(JSON.parse(live ?? '').items).to.have.length(1)
    expect(JSON.parse(live ?? '').items[0]).to.deep.include({
      ...{
        userId: 'alice',
        actor: { sub: 'sam', clientId: 'support-tool' },
        usedBy: 'support-tool',
        state: 'consumed',
      },
      context: { reason: 'order <is> missing' },
    })
    expect(JSON.parse(stopped ?? '')).to.deep.equal({ revoked: 1 })
    expect(await sam.visit(tool()))
      .to.include('Stopped by dana: the shift is over')
      .and.not.include('teapot')
    expect(await sam.visit(tool()))
      .to.include('You are sam.')
      .and.not.include('Stopped')

    // Another view, which the engineer ends.
    expect(await sam.submit(`${tool()}/view`, { customer: 'bob', reason: 'T-2' })).to.include('A lamp')
    expect(await sam.submit(`${tool()}/stop`, {})).to.include('You are sam.')
    const [left = ''] = (await administrator()).split('{"revoked"')
    expect(JSON.parse(left).items).to.deep.equal([])
  })

  it('opens the shop as the customer, and closes it when an administrator stops it', async () => {
    const sam = await signedIn('sam')
    const form = await sam.submit(`${tool()}/open`, { customer: 'alice', reason: 'order is missing' })
    const [, token = ''] = /name="subject_token" value="(ses_[\w-]+)"/.exec(form) ?? []
    expect(sam.form()).to.equal(here('http://127.0.0.1:3000/impersonate'))
    const question = await sam.submit(sam.form(), { subject_token: token })
    expect(question).to.include('Open as').and.include('order is missing')
    const [, sealed = ''] = /name="sealed" value="([^"]+)"/.exec(question) ?? []
    const [, start = ''] = /content="0;url=([^"]+)"/.exec(await sam.submit(sam.form(), { sealed })) ?? []
    expect(await sam.visit(start))
      .to.include('The shop of alice')
      .and.include('Opened by sam')
      .and.include('A teapot')
    expect(await administrator())
      .to.include('"use":"session"')
      .and.include('{"revoked":1}')
    const shop = here('http://127.0.0.1:7000')
    for (let attempts = 0; attempts < 100 && (await sam.visit(shop)).includes('alice'); attempts += 1)
      await sleep(50)
    expect(await sam.visit(shop)).to.include('You are not signed in')
  })

  it('refuses a colleague as customer, a customer as engineer, and a form from another origin', async () => {
    const refused = async (who: string, customer: string) => {
      const visitor = await signedIn(who)
      await visitor.submit(`${tool()}/view`, { customer, reason: 'curious' })
      return visitor.last?.status
    }
    expect(await refused('sam', 'sam')).to.equal(403)
    expect(await refused('bob', 'alice')).to.equal(403)
    // The first one only.
    const notices = logs.match(/NOTICE: a request was refused.*/g)
    expect(notices).to.have.length(1)
    expect(notices?.[0]).to.include('check actorIsNotSubject, reason "an account cannot act for itself"')
    const sam = await signedIn('sam')
    await sam.submit(`${tool()}/view`, { customer: 'alice', reason: 'x' }, 'http://127.0.0.1:1')
    expect(sam.last?.status).to.equal(403)
  })

  /** Through the provider's development pages: sign in, then consent. */
  async function signedIn(account: string): Promise<Visitor> {
    const visitor = new Visitor()
    expect(await visitor.visit(tool())).to.include('name="password"')
    const asked = await visitor.submit(visitor.form(), { prompt: 'login', login: account, password: 'any' })
    expect(asked).to.include('Continue')
    expect(await visitor.submit(visitor.form(), { prompt: 'consent' })).to.include(`You are ${account}.`)
    return visitor
  }
})
