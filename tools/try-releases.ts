/**
 * Runs the tests that depend on a peer against other releases of it: `npm run try-releases`. Without arguments it tries
 * the newest release of every peer, also outside the supported range. An argument is `<peer>@<version>`,
 * `<peer>@oldest` or `<peer>@newest`; the last two are of the supported range.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { copyRepository, ROOT } from './copy.ts'

const { peerDependencies }: { peerDependencies: Record<string, string> } = readJson('package.json')

/** Packages that load each other are installed together; the tests are those that run on them. */
const GROUPS = [
  {
    packages: ['oidc-provider'],
    tests: ['test/spec/*.test.ts', 'test/scenarios/*/*.test.ts'],
  },
  {
    packages: ['@opentelemetry/api'],
    tests: ['test/scenarios/metrics/recordings.test.ts', 'test/scenarios/metrics/registry.test.ts'],
  },
  {
    packages: ['mysql2', 'pg', 'sequelize'],
    tests: [
      'test/storage/*.test.ts',
      'test/nightly/faults/poolers.test.ts',
      'test/nightly/faults/silence.test.ts',
    ],
  },
]

interface Release {
  readonly peer: string
  readonly version: string
}

function readJson(file: string) {
  return JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'))
}

const installedVersion = (peer: string): string => readJson(`node_modules/${peer}/package.json`).version

/** Of the registry, oldest first, without pre-releases. */
function versionsOf(peer: string, range: string): string[] {
  const found = JSON.parse(
    execFileSync('npm', ['view', `${peer}@${range}`, 'version', '--json'], { encoding: 'utf8' }),
  )
  const versions: string[] = Array.isArray(found) ? found : [found]
  return versions
    .filter((version) => !version.includes('-'))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
}

function releaseOf(argument: string): Release {
  const at = argument.lastIndexOf('@')
  const [peer, wanted] = [argument.slice(0, at), argument.slice(at + 1)]
  const range = peerDependencies[peer]
  if (range === undefined) throw new Error(`not <peer>@<version> of a peer: ${argument}`)
  const inRange = wanted === 'oldest' || wanted === 'newest'
  const versions = versionsOf(peer, inRange ? range : wanted)
  const version = wanted === 'oldest' ? versions[0] : versions.at(-1)
  if (version === undefined) throw new Error(`there is no release ${argument}`)
  return { peer, version }
}

/** A copy of the repository whose packages are those of the original, except the group's. */
function makeCopy(packages: readonly string[], { peer, version }: Release): string {
  const folder = copyRepository('release')
  const releases = path.join(folder, 'releases')
  mkdirSync(releases)
  const named = packages.map((name) => `${name}@${name === peer ? version : installedVersion(name)}`)
  execFileSync('npm', ['install', '--no-save', '--ignore-scripts', '--prefix', releases, ...named], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const name of packages) {
    const link = path.join(folder, 'node_modules', name)
    rmSync(link)
    symlinkSync(path.join(releases, 'node_modules', name), link)
  }
  return folder
}

/** Whether the tests pass. */
function passes(release: Release): boolean {
  const group = GROUPS.find(({ packages }) => packages.includes(release.peer))
  if (!group) throw new Error(`no tests for ${release.peer}`)
  const folder = makeCopy(group.packages, release)
  try {
    const mocha = path.join(folder, 'node_modules/mocha/bin/mocha.js')
    const options = ['--parallel', '--jobs', '2', '--reporter', 'dot']
    const run = spawnSync(process.execPath, [mocha, ...options, ...group.tests], {
      cwd: folder,
      stdio: 'inherit',
    })
    return run.status === 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const given = process.argv.slice(2)
const latest = Object.keys(peerDependencies).map((peer) => `${peer}@latest`)
let failed = false
for (const release of (given.length > 0 ? given : latest).map(releaseOf)) {
  const { peer, version } = release
  const name = `${peer} ${version}`
  if (version === installedVersion(peer)) {
    console.log(`${name}: installed here, so npm test runs on it`)
    continue
  }
  const isSupported = versionsOf(peer, peerDependencies[peer] ?? '').includes(version)
  console.log(`${name}${isSupported ? '' : ` (the supported range is ${peerDependencies[peer]})`}:`)
  const passed = passes(release)
  console.log(`${name}: ${passed ? 'passes' : 'FAILS'}`)
  failed ||= !passed
}
process.exitCode = failed ? 1 : 0
