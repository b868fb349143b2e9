import './mocha-names.ts'
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import type { Room } from './rooms.ts'

export type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number]

const OF_CHECKER = ['--import', import.meta.resolve('./mocha-names.ts')]
const OF_RUNNER = [...OF_CHECKER, '--import', import.meta.resolve('./runner.ts')]

// Mocha itself finds no file by a pattern that has braces and nothing else.
const filesOf = ({ tests }: Room): string[] => tests.flatMap((pattern) => globSync(pattern).sort())

/** The tests that fail where they run twice in one process; nothing can be measured with them. */
export async function unrepeatable(room: Room): Promise<string> {
  const program = fileURLToPath(import.meta.resolve('./repeatable.ts'))
  const { stdout } = await promisify(execFile)(process.execPath, [program, room.titles, ...filesOf(room)])
  // The provider prints notices there too.
  return stdout
    .split('\n')
    .filter((line) => /^(first|second) time: /.test(line))
    .join('\n')
}

/** The mutators of Stryker 10.0.0 besides the one that removes calls. */
const OF_VALUES = [
  ...['ArithmeticOperator', 'ArrayDeclaration', 'ArrowFunction', 'AssignmentOperator', 'BlockStatement'],
  ...['BooleanLiteral', 'ConditionalExpression', 'EqualityOperator', 'LogicalOperator', 'MethodExpression'],
  ...['ObjectLiteral', 'OptionalChaining', 'Regex', 'StringLiteral', 'UnaryOperator', 'UpdateOperator'],
]

/** Measures in a copy of the repository, `coverage/mutants`, and leaves a page of every mutant in `coverage`. */
export const runRoom = (name: string, room: Room, jobs: number): Promise<Mutant[]> =>
  new Stryker({
    mutate: [...room.mutate],
    mutator: { excludedMutations: room.areTests ? OF_VALUES : [] },
    plugins: [import.meta.resolve('@stryker-mutator/mocha-runner')],
    testRunner: 'mocha',
    testRunnerNodeArgs: OF_RUNNER,
    checkerNodeArgs: OF_CHECKER,
    mochaOptions: { spec: filesOf(room), grep: room.titles },
    ...(room.inBrowser
      ? { coverageAnalysis: 'off' as const }
      : { coverageAnalysis: 'perTest' as const, ignoreStatic: true }),
    concurrency: jobs,
    timeoutMS: 20_000,
    dryRunTimeoutMinutes: 20,
    // TypeScript 7 has no JavaScript API; Node runs the mutants as they are.
    disableTypeChecks: false,
    tsconfigFile: 'no-tsconfig.json',
    tempDirName: 'coverage/mutants',
    cleanTempDir: 'always',
    ignorePatterns: ['coverage', 'dist', 'docs/images', 'test/browser/screenshots'],
    reporters: ['progress-append-only', 'html'],
    htmlReporter: { fileName: `coverage/mutation-${name}.html` },
    allowConsoleColors: false,
    thresholds: { break: null },
  }).runMutationTest()
