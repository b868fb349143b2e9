/** A command of this repository as a process: what it prints, and how it ends. */
import { readFileSync } from 'node:fs'

export class UsageError extends Error {}

/** The message of an error, or of what is no error. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** An error may quote the address of a database: up to the last `@`, since passwords are not always encoded. */
export const withoutCredentials = (text: string): string => text.replace(/\/\/.*@/g, '//***@')

/**
 * Runs a command and ends the process: with 0, or what `main` has set as exit code; with 1 where it throws; with 2 for a
 * `UsageError`. `main` returns what stdout gets. Whatever a deployment prints meanwhile goes to stderr.
 */
export async function runCommand(name: string, main: (args: string[]) => Promise<string>): Promise<void> {
  try {
    const text = await withStdoutOnStderr(() => main(process.argv.slice(2)))
    process.stdout.write(`${text}\n`)
  } catch (error) {
    const plain = withoutCredentials(messageOf(error)).replace(/[^\P{Cc}\n]/gu, ' ')
    console.error(`${name}: ${plain}`)
    if (error instanceof UsageError) console.error(`\nTry: ${name} --help`)
    process.exitCode = error instanceof UsageError ? 2 : 1
  }
  await end()
}

async function withStdoutOnStderr<Value>(work: () => Promise<Value>): Promise<Value> {
  const { write } = process.stdout
  process.stdout.write = process.stderr.write.bind(process.stderr)
  try {
    return await work()
  } finally {
    process.stdout.write = write
  }
}

/** The text that `--version` prints. */
export const versionOf = (manifest: URL): string => String(JSON.parse(readFileSync(manifest, 'utf8')).version)

/** The deployment may hold the process: a pool, a listener, an interval. */
async function end(): Promise<never> {
  // The exit would drop what a pipe has not taken yet.
  for (const stream of [process.stdout, process.stderr]) {
    // Its reader has gone, or its disk is full: there is no one to tell.
    stream.on('error', () => {})
    await new Promise((written) => stream.write('', written))
  }
  process.exit()
}
