import type { Seconds } from '../clock.ts'
import type { SubjectTokenStore } from './store.ts'

/** For a database that accepts connections and never replies. */
const TIME_LIMIT: Seconds = 5

/** Resolves when the store can serve, and rejects with the reason when it cannot, or does not say so in time. */
export async function storeReady(store: SubjectTokenStore, issuer: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    const error = new Error(`the store did not respond within ${TIME_LIMIT} s`)
    timer = setTimeout(() => reject(error), TIME_LIMIT * 1000)
  })
  try {
    await Promise.race([store.ready ? store.ready() : store.find(issuer, '0'.repeat(32)), tooLate])
  } finally {
    clearTimeout(timer)
  }
}
