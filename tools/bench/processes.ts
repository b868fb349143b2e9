/** Processes that are called over IPC, and the cores that they run on. */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'

/** The functions of a process. Each takes one value and returns one. */
// biome-ignore lint/suspicious/noExplicitAny: the only type that fits every task
export type Tasks = Record<string, (argument: any) => unknown>

export interface Worker<T extends Tasks> {
  /** Call only one function at a time. */
  ask<Name extends keyof T>(
    name: Name,
    argument: Parameters<T[Name]>[0],
  ): Promise<Awaited<ReturnType<T[Name]>>>
  end(): Promise<void>
}

/** Starts a module in a separate process, pinned to these cores if possible. */
export function startWorker<T extends Tasks>(module: URL, cores: string | undefined): Worker<T> {
  const node = ['--no-warnings', '--expose-gc']
  const pinned = cores === undefined ? [] : ['-c', cores, process.execPath]
  const child = fork(module, {
    ...(cores !== undefined && { execPath: 'taskset' }),
    execArgv: [...pinned, ...node],
    serialization: 'advanced',
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const exited = once(child, 'exit').then(() => {
    throw new Error(`${module.pathname} ended`)
  })
  exited.catch(() => {})
  return {
    async ask(name, argument) {
      const responded = once(child, 'message')
      child.send({ name, argument })
      const [{ failure, result }] = await Promise.race([responded, exited])
      if (failure !== undefined) throw new Error(failure)
      return result
    },
    async end() {
      if (child.connected) child.disconnect()
      await exited.catch(() => {})
    },
  }
}

/** The other end: runs the functions that the parent process calls. */
export function serve(tasks: Tasks): void {
  process.on('message', async ({ name, argument }: { name: string; argument: unknown }) => {
    try {
      process.send?.({ result: await tasks[name]?.(argument) })
    } catch (error) {
      process.send?.({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.once('disconnect', () => process.exit())
}

export interface Cores {
  /** The last core of the machine. */
  readonly server: string | undefined
  /** For the generator, and for the database if it can be pinned: all others. */
  readonly others: string | undefined
}

/** Assigns the processes to cores. They are not pinned without `taskset` or on a single core. */
export function chooseCores(): Cores {
  const cores = allowedCores()
  const last = cores.at(-1)
  if (cores.length < 2 || last === undefined) return { server: undefined, others: undefined }
  return { server: String(last), others: cores.slice(0, -1).join(',') }
}

function allowedCores(): number[] {
  const list = taskset('-cp', String(process.pid))?.split(':').at(-1)?.trim()
  return (list?.split(',') ?? []).flatMap((range) => {
    const [from = Number.NaN, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}

/** `undefined` if there is no `taskset`, or if it is not permitted. */
export function taskset(...args: string[]): string | undefined {
  try {
    return execFileSync('taskset', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
