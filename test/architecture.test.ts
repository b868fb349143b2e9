/** Reads the imports of the source, and enforces their direction. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { PACKAGES, readManifest } from '../fixtures/packed-package.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const SRC = path.join(ROOT, 'src')

/**
 * The storeys of the house from the ground up. A room is a folder, or one of the files named here; it may import
 * itself and what lies below its storey. Type imports count.
 */
const STOREYS = [
  ['base'],
  ['tokens'],
  ['options.ts', 'events.ts'],
  ['metrics', 'pages'],
  ['provider'],
  ['records'],
  ['exchange', 'router'],
  ['sessions'],
  ['impersonation.ts'],
  ['index.ts', 'inside.ts'],
]
/** Rooms with an entry of their own. */
const GUESTS = ['sequelize', 'cli']

const CORE = 'oidc-provider-impersonation'
/** Packages for servers. The others run in browsers and in workers, too. */
const FOR_NODE = [`${CORE}-console`, `${CORE}-check`, `${CORE}-store-contract`, 'token-exchange-suite']

interface Import {
  readonly from: string
  readonly to: string
}

const sourcesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.d)\.[tj]s$/.test(file))

function importsIn(folder: string): Import[] {
  return sourcesIn(folder).flatMap((file) => {
    const text = readFileSync(path.join(folder, file), 'utf8')
    return [...text.matchAll(/(?:from|import)\s+'([^']+)'/g)].map(([, specifier = '']) => ({
      from: file,
      to: specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier,
    }))
  })
}

const circlesIn = (folder: string): string[] => circlesOf(importsIn(folder))

function circlesOf(found: readonly Import[]): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, trail: readonly string[]) => {
    if (trail.includes(file)) {
      circles.push([...trail.slice(trail.indexOf(file)), file].join(' → '))
      return
    }
    if (done.has(file)) return
    for (const { to } of found.filter(({ from }) => from === file)) visit(to, [...trail, file])
    done.add(file)
  }
  for (const { from } of found) visit(from, [])
  return circles
}

const sources = sourcesIn(SRC)
const imports = importsIn(SRC)
const inside = imports.filter(({ to }) => to.endsWith('.ts'))

const roomOf = (file: string): string => file.split(path.sep)[0] ?? ''
const storeyOf = (file: string): number => STOREYS.findIndex((rooms) => rooms.includes(roomOf(file)))

const show = ({ from, to }: Import) => `${from} → ${to}`

describe('architecture', () => {
  it('finds the source', () => {
    expect(sources).to.include('index.ts')
    expect(inside.length).to.be.greaterThan(50)
  })

  it('has a place for every file and folder', () => {
    expect(readdirSync(SRC).sort()).to.deep.equal([...STOREYS, GUESTS].flat().sort())
  })

  it('lets a room build only on rooms below it, and on none beside it', () => {
    const wrong = inside.filter(({ from, to }) => {
      if (roomOf(from) === roomOf(to) || [...GUESTS, 'inside.ts'].includes(roomOf(from))) return false
      return storeyOf(to) === -1 || storeyOf(from) <= storeyOf(to)
    })
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('has no circular imports, type imports included', () => {
    expect(circlesIn(SRC)).to.deep.equal([])
  })

  it('has no folder that imports one that imports it', () => {
    // A file beside the folders of src, or of a room, stands for itself: what it imports is no concern of those folders.
    const folderOf = (file: string) => (file.split(path.sep).length > 2 ? path.dirname(file) : file)
    for (const partOf of [folderOf, (file: string) => (path.dirname(file) === '.' ? file : roomOf(file))]) {
      const between = inside.map(({ from, to }) => ({ from: partOf(from), to: partOf(to) }))
      expect(circlesOf(between.filter(({ from, to }) => from !== to))).to.deep.equal([])
    }
  })

  it('lets storage import contracts of the domain, and nothing else', () => {
    const allowed = ['filter', 'id', 'secret', 'store', 'subject-token'].map((file) => `tokens/${file}.ts`)
    const wrong = inside.filter(
      ({ from, to }) =>
        roomOf(from) === 'sequelize' &&
        roomOf(to) !== 'sequelize' &&
        !['base/clock.ts', 'base/json.ts', ...allowed].includes(to),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('opens storage through its own entry point only', () => {
    const wrong = inside.filter(
      ({ from, to }) =>
        roomOf(to) === 'sequelize' && !['sequelize', 'cli', 'inside.ts'].includes(roomOf(from)),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it("imports oidc-provider's lib in one file only", () => {
    const files = imports.filter(({ to }) => to.startsWith('oidc-provider/')).map(({ from }) => from)
    expect(files).to.deep.equal([path.join('provider', 'lib-grants.ts')])
  })

  it('lets no command load the provider, an optional peer whose load takes longer than the command', () => {
    // What `import()` loads is not in the way of the others.
    const loaded = (file: string) =>
      [
        ...readFileSync(path.join(SRC, file), 'utf8').matchAll(
          /^(?:import|export) (?!type ).*?from '([^']+)'/gms,
        ),
      ].map(([, specifier = '']) =>
        specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier,
      )
    const reached = new Set(['cli/main.ts'])
    for (const file of reached) {
      if (file.endsWith('.ts')) for (const to of loaded(file)) reached.add(to)
    }
    expect([...reached]).to.include.members(['sequelize', 'sequelize/schema/purge.ts'])
    expect([...reached].filter((file) => file === 'oidc-provider' || file === 'koa')).to.deep.equal([])
  })

  it('keeps HTTP and SQL out of the domain, not even one step away', () => {
    const reached = new Set(sources.filter((file) => roomOf(file) === 'tokens'))
    for (const file of reached) {
      for (const { to } of inside.filter(({ from }) => from === file)) reached.add(to)
    }
    expect(reached.size).to.be.greaterThan(4)
    const packages = imports.filter(({ from, to }) => reached.has(from) && !to.endsWith('.ts'))
    expect(packages.map(show).sort()).to.deep.equal([
      'tokens/id.ts → node:crypto',
      'tokens/secret.ts → node:crypto',
    ])
  })

  it('keeps HTTP out of what the management API does: a caller without a request can do the same', () => {
    const wrong = imports.filter(
      ({ from, to }) => roomOf(from) === 'records' && /koa|raw-body|base\/body|router/.test(to),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('handles the plaintext of a subject token in one file only', () => {
    const files = sources.filter((file) =>
      readFileSync(path.join(SRC, file), 'utf8').includes('randomBytes(32).toString'),
    )
    expect(files.filter((file) => roomOf(file) === 'tokens')).to.deep.equal([
      path.join('tokens', 'secret.ts'),
    ])
  })

  it('knows sessions by one member of the service: their words are said in three rooms', () => {
    const files = sources.filter((file) =>
      /imp_|purpose (!==|===) 'session'|IMPERSONATION_SESSIONS|impersonation_sessions/.test(
        readFileSync(path.join(SRC, file), 'utf8'),
      ),
    )
    expect(new Set(files.map(roomOf))).to.deep.equal(new Set(['sequelize', 'sessions', 'tokens']))
    const wrong = inside.filter(
      ({ from, to }) =>
        roomOf(to) === 'sessions' &&
        !['sessions', 'impersonation.ts', 'index.ts', 'inside.ts'].includes(roomOf(from)),
    )
    expect(wrong.map(show)).to.deep.equal([])
  })

  it('has no utils or helpers folder', () => {
    expect(
      sources.filter((file) => /(^|\/)(utils?|helpers?|common|misc)(\/|\.ts$)/.test(file)),
    ).to.deep.equal([])
  })

  it('reads the environment and writes to the console in the command line and one file only', () => {
    const files = sources.filter((file) =>
      /\bconsole\.(?!ts|md)\w+\(|process\.env/.test(readFileSync(path.join(SRC, file), 'utf8')),
    )
    expect(files.filter((file) => roomOf(file) !== 'cli')).to.deep.equal([
      path.join('provider', 'notices.ts'),
    ])
  })
})

describe('architecture: the packages beside this one', () => {
  for (const [name, folder] of [...PACKAGES].filter(([, place]) => place !== '.')) {
    const own = path.join(ROOT, folder, 'src')

    const { version, dependencies, peerDependencies = {} } = readManifest(folder)

    it(`${name} imports what it depends on and itself, and nothing of the rest`, () => {
      const found = importsIn(own).filter(({ to }) => !(FOR_NODE.includes(name) && to.startsWith('node:')))
      const outside = found.map(({ to }) => to).filter((to) => ![name, ...sourcesIn(own)].includes(to))
      const needed = Object.keys({ ...dependencies, ...peerDependencies }).map((one) =>
        one.replace('@types/', ''),
      )
      expect(new Set(outside.map((to) => to.replace(/\/inside$/, '')))).to.deep.equal(new Set(needed))
      // Types of a check and of its session name each other.
      if (name !== 'token-exchange-suite') expect(circlesIn(own)).to.deep.equal([])
    })

    it(`${name} needs the core as a peer, if at all, and of what is released together the same version`, () => {
      const needed = Object.entries({ ...dependencies, ...peerDependencies }).filter(([one]) =>
        PACKAGES.has(one),
      )
      expect(needed.filter(([, range]) => range !== version)).to.deep.equal([])
      expect(dependencies ?? {}).not.to.have.property(CORE)
    })

    if (FOR_NODE.includes(name)) continue

    it(`${name} runs without Node, and silently: it uses no global of Node, and no console`, () => {
      const text = sourcesIn(own).map((file) => readFileSync(path.join(own, file), 'utf8'))
      expect(text.join('\n')).to.match(/export/)
      expect(text.join('\n')).not.to.match(
        /\b(Buffer|console|process|require|setImmediate|__dirname)\b[.(]|import\(/,
      )
    })
  }

  it('are imported by no room', () => {
    const wrong = imports.filter(({ to }) => to.includes('packages') || PACKAGES.has(to))
    expect(wrong.map(show)).to.deep.equal([])
  })
})
