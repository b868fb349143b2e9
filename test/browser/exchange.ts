/** The page's exchange, caught on its way to the provider. */
import type { Page, Route } from 'playwright-core'

interface Held {
  /** Resolves when the page has sent it. It goes on with the route's `continue`. */
  reached(): Promise<Route>
}

/** The next request to the token endpoint waits; those after it pass. */
export async function holdExchange(page: Page): Promise<Held> {
  const { promise, resolve } = Promise.withResolvers<Route>()
  await page.route('**/oidc/token', resolve, { times: 1 })
  return { reached: () => promise }
}

/** What is said of every subject token that cannot be exchanged, whatever the reason. */
export const REFUSED =
  'The identity provider refused the exchange: subject_token is invalid. Nothing is being viewed. ' +
  "Why is told to the operator's log only: the token may have been used before, stopped, or be too old. " +
  'Start again to get a new one.'
