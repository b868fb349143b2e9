/**
 * The element `<impersonation-banner>`: one row that says who is viewed, by whom, why, and for how much longer.
 * Emits `end` when its button is pressed, and `over` when the time is up. Importing the module defines the element.
 */
export declare class ImpersonationBanner extends HTMLElement {
  /** The name of the person who is viewed. Default: `''`, which is shown as "someone else". */
  user: string
  /** The name of the person who views. Default: `''`, which is not shown. */
  actor: string
  /** Why, for example a ticket. Default: `''`, which is not shown. */
  reason: string
  /** When the view ends, in seconds since the epoch. Default: `NaN`, which shows no time and never emits `over`. */
  until: number
}

declare global {
  interface HTMLElementTagNameMap {
    'impersonation-banner': ImpersonationBanner
  }
}
