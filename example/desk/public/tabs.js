/** The tabs of one browser share the backend's session: what one of them starts or stops concerns the others. */

const channel = new BroadcastChannel('support-desk')

/** Says nothing but that there is something new: each tab asks the backend itself. */
export const tellOtherTabs = () => channel.postMessage('changed')

/** Also called where the tab is shown again: browsers slow the timers of hidden pages down. */
export function onNews(listener) {
  channel.addEventListener('message', listener)
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) listener()
  })
}
