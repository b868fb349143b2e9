import type { Page } from 'playwright-core'

/** Something to take pictures of. */
export interface Scenery {
  readonly baseUrl: string
  /** By the name of the picture: opens what it shows. Returns the page, if it is another one. */
  readonly views: Readonly<Record<string, (page: Page) => Promise<Page | undefined> | Promise<void>>>
  close(): Promise<void>
}
