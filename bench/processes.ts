/** Processes that are asked over IPC, and the cores they run on. */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'

/** What a process can be asked: each takes one value and answers one. */
// biome-ignore lint/suspicious/noExplicitAny: the least that every task is
export type Tasks = Record<string, (argument: any) => unknown>

export interface Worker<T extends Tasks> {
  /** One question at a time. */
  ask<Name extends keyof T>(
    name: Name,
    argument: Parameters<T[Name]>[0],
  ): Promise<Awaited<ReturnType<T[Name]>>>
  end(): Promise<void>
}

/** Starts a module as a process of its own, pinned to these cores where that can be done. */
export function startWorker<T extends Tasks>(module: URL, cores: string | undefined): Worker<T> {
  const node = ['--no-warnings']
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
      const answered = once(child, 'message')
      child.send({ name, argument })
      const [{ failure, answer }] = await Promise.race([answered, exited])
      if (failure !== undefined) throw new Error(failure)
      return answer
    },
    async end() {
      if (child.connected) child.disconnect()
      await exited.catch(() => {})
    },
  }
}

/** The other end: answers what the process that started this one asks. */
export function serve(tasks: Tasks): void {
  process.on('message', async ({ name, argument }: { name: string; argument: unknown }) => {
    try {
      process.send?.({ answer: await tasks[name]?.(argument) })
    } catch (error) {
      process.send?.({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.once('disconnect', () => process.exit())
}

export interface Cores {
  /** One for each server: the last cores of the machine. Of two, the database needs the other. */
  readonly servers: readonly (string | undefined)[]
  /** The generator's, and the database's where it can be pinned: all that the first server does not have. */
  readonly others: string | undefined
}

/** Where the processes go; nowhere in particular without `taskset` or on a single core. */
export function chooseCores(): Cores {
  const cores = allowedCores()
  const last = cores.at(-1)
  if (cores.length < 2 || last === undefined) return { servers: [undefined, undefined], others: undefined }
  return {
    servers: [String(last), String(cores.length > 2 ? cores.at(-2) : last)],
    others: cores.slice(0, -1).join(','),
  }
}

function allowedCores(): number[] {
  const list = taskset('-cp', String(process.pid))?.split(':').at(-1)?.trim()
  return (list?.split(',') ?? []).flatMap((range) => {
    const [from = Number.NaN, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}

/** `undefined` where there is no `taskset`, or it may not. */
export function taskset(...args: string[]): string | undefined {
  try {
    return execFileSync('taskset', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
