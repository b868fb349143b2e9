/** Reads the imports of the source, and holds the direction they may take. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '..')
const SRC = path.join(ROOT, 'src')

/** Rooms in the order they build on each other: each may import itself, and those left of it. */
const ORDER = [
  'base',
  'subject-tokens',
  'options',
  'events',
  'outage',
  'callbacks',
  'provider',
  'exchange',
  'management',
  'impersonation',
  'index',
]
/** Two rooms of one storey that must not know each other. */
const NEIGHBOURS = [['exchange', 'management']]

interface Import {
  readonly from: string
  readonly to: string
}

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(SRC, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s+'([^']+)'/g)].map(([, specifier]) => specifier ?? '')
}

const imports: Import[] = sources.flatMap((file) =>
  importsOf(file).map((specifier) => ({
    from: file,
    to: specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier,
  })),
)
const inside = imports.filter(({ to }) => to.endsWith('.ts'))

function roomOf(file: string): string {
  const [first = ''] = file.split(path.sep)
  if (!first.endsWith('.ts')) return first
  const name = first.slice(0, -'.ts'.length)
  return ORDER.includes(name) || name === 'cli' ? name : 'base'
}

const show = ({ from, to }: Import) => `${from} → ${to}`

describe('architecture', () => {
  it('finds the source', () => {
    expect(sources).to.include('index.ts')
    expect(inside.length).to.be.greaterThan(50)
  })

  it('lets a room build only on rooms below it', () => {
    const wrong = inside.filter(({ from, to }) => {
      const [a, b] = [roomOf(from), roomOf(to)]
      if (a === b || a === 'sequelize' || a === 'cli') return false
      return ORDER.indexOf(b) === -1 || ORDER.indexOf(a) < ORDER.indexOf(b)
    })
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('keeps neighbours apart', () => {
    const wrong = inside.filter(({ from, to }) =>
      NEIGHBOURS.some(
        (pair) => pair.includes(roomOf(from)) && pair.includes(roomOf(to)) && roomOf(from) !== roomOf(to),
      ),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('has no circle, type imports included', () => {
    const circles: string[] = []
    const visit = (file: string, trail: readonly string[]) => {
      if (trail.includes(file)) {
        circles.push([...trail.slice(trail.indexOf(file)), file].join(' → '))
        return
      }
      for (const { to } of inside.filter(({ from }) => from === file)) visit(to, [...trail, file])
    }
    for (const file of sources) visit(file, [])
    expect(circles).to.deep.equal([])
  })

  it('lets storage know contracts of the domain, and nothing else', () => {
    const allowed = ['id', 'secret', 'store', 'subject-token'].map((file) => `subject-tokens/${file}.ts`)
    const wrong = inside.filter(
      ({ from, to }) =>
        roomOf(from) === 'sequelize' &&
        roomOf(to) !== 'sequelize' &&
        !['clock.ts', 'plain-json.ts', ...allowed].includes(to),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('opens storage through its own door only', () => {
    const wrong = inside.filter(
      ({ from, to }) => roomOf(to) === 'sequelize' && !['sequelize', 'cli'].includes(roomOf(from)),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it("reaches into oidc-provider's lib from one file", () => {
    const files = imports.filter(({ to }) => to.startsWith('oidc-provider/')).map(({ from }) => from)
    expect(files).to.deep.equal([path.join('provider', 'grants.ts')])
  })

  it('keeps HTTP and SQL out of the domain', () => {
    const wrong = imports.filter(
      ({ from, to }) => roomOf(from) === 'subject-tokens' && /^(koa|@koa|sequelize|oidc-provider)/.test(to),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('sees the plaintext of a subject token in one file', () => {
    const files = sources.filter((file) =>
      readFileSync(path.join(SRC, file), 'utf8').includes('randomBytes(32).toString'),
    )
    expect(files.filter((file) => roomOf(file) === 'subject-tokens')).to.deep.equal([
      path.join('subject-tokens', 'secret.ts'),
    ])
  })

  it('has no drawer', () => {
    expect(
      sources.filter((file) => /(^|\/)(utils?|helpers?|common|misc)(\/|\.ts$)/.test(file)),
    ).to.deep.equal([])
  })

  it('reads no environment and writes to no console outside the command line', () => {
    const files = sources.filter((file) =>
      /console\.|process\.env/.test(readFileSync(path.join(SRC, file), 'utf8')),
    )
    expect(files.filter((file) => roomOf(file) !== 'cli')).to.deep.equal([])
  })
})
