/** The example as `npm start` runs it: a separate process, and every line that it prints is read. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Example } from '../../example/deployment.ts'
import { FROM_SOURCE } from '../../fixtures/packed-package.ts'

const MAIN = path.resolve(import.meta.dirname, '../../example/main.ts')

/** `onOutput` receives everything that it prints to stdout and stderr. */
export async function startProgram(folder: string, onOutput: (text: string) => void): Promise<Example> {
  const { DATABASE_URL: _, ...inherited } = process.env
  const server = spawn(process.execPath, [FROM_SOURCE, MAIN], {
    cwd: folder,
    env: { ...inherited, PORT: '0' },
  })
  const ended = once(server, 'close')
  server.stderr.setEncoding('utf8').on('data', onOutput)
  const [baseUrl, shop] = await new Promise<readonly [string, string]>((resolve, reject) => {
    let printed = ''
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      onOutput(text)
      printed += text
      const [, url] = /^Open (\S+)\/ and sign in/m.exec(printed) ?? []
      const [, other] = /^Shop +(\S+)$/m.exec(printed) ?? []
      if (url && other) resolve([url, other])
    })
    ended.then(() => reject(new Error(`it ended: ${printed}`)), reject)
  })
  return {
    ...{ baseUrl, shop },
    async close() {
      server.kill('SIGTERM')
      await ended
    },
  }
}
