/** The page's exchange, held on its way to the provider. */
import type { Page, Route } from 'playwright-core'

interface Held {
  /** Resolves when the page has sent it. Call the route's `continue` to let it through. */
  reached(): Promise<Route>
}

/** Holds the next request to the token endpoint. Later ones pass. */
export async function holdExchange(page: Page): Promise<Held> {
  const { promise, resolve } = Promise.withResolvers<Route>()
  await page.route('**/oidc/token', resolve, { times: 1 })
  return { reached: () => promise }
}

/** The message for every subject token that cannot be exchanged, for whatever reason. */
export const REFUSED =
  'The identity provider refused the exchange: subject_token is invalid. Nothing is being viewed. ' +
  "The reason is recorded in the operator's log only: " +
  'the token may have been used before, stopped, or may have expired. ' +
  'Start again to get a new one.'
