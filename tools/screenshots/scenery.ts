import type { Page } from 'playwright-core'

/** Something to take pictures of. */
export interface Scenery {
  readonly baseUrl: string
  /** By the name of the picture: opens what it shows. */
  readonly views: Readonly<Record<string, (page: Page) => Promise<void>>>
  close(): Promise<void>
}
